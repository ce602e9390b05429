// What waits for a person, in a terminal: the list with everything that would be done, and the decision.

import type { Approval } from "../protocol/approval.ts";
import { userName } from "../pty/user-name.ts";
import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput } from "./flags.ts";

export async function approve({ words, flags, json, io, dependencies }: Invocation): Promise<number> {
	const [id] = words;
	const [deny, note] = [flags.on("deny"), flags.get("note") as string | undefined];
	if (id === undefined && (deny || note !== undefined)) throw badInput("give the ID that `dialtone approve` lists");
	await using client = await dependencies.connect();
	if (id === undefined) {
		const waiting = await client.approvals();
		if (json) io.out(`${JSON.stringify({ approvals: waiting })}\n`);
		else if (waiting.length === 0) io.err("Nothing waits for approval.\n");
		else io.out(waiting.map(described).join("\n"));
		return EXIT.ok;
	}
	const decision = { approve: !deny, who: userName(), ...(note !== undefined && { note }) };
	const decided = await client.decide(id, decision);
	io.out(
		json
			? `${JSON.stringify({ ...decided, approved: !deny })}\n`
			: `${deny ? "Denied" : "Approved"}:\n${described(decided)}`,
	);
	return EXIT.ok;
}

const EFFECTS = { starts: "wants to start", types: "wants to type or run", ends: "wants to end" } as const;

/** All of it: a person decides by what they read here. */
function described({ id, at, owner, tool, effect, what, session, name, cwd, sandbox, because }: Approval): string {
	const facts = [
		session === null ? null : `session ${name} (${session})`,
		cwd === null ? null : `directory ${cwd}`,
		`sandbox ${sandbox}`,
		`since ${new Date(at).toISOString()}`,
		because === null ? null : `because ${because}`,
	];
	const text = what.split("\n").map((line) => `    ${line}\n`);
	const rest = facts.filter((fact) => fact !== null).map((fact) => `  ${fact}\n`);
	return `${id}  ${owner} ${EFFECTS[effect]} (${tool}):\n${text.join("")}${rest.join("")}`;
}
