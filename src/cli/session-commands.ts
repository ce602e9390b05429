// The commands beside the verbs that call tools too: forget a session, call any tool, list them.

import type { SessionFacts } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import { TOOL_SETS, type ToolSet } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { EXIT, exitCodeOfFault } from "./exit-codes.ts";
import { badInput, type Flags } from "./flags.ts";
import { lookAt, onSession } from "./session-named.ts";
import { fitted, table } from "./table.ts";
import { textOf } from "./tool-verbs.ts";

export async function remove(invocation: Invocation): Promise<number> {
	await using client = await invocation.dependencies.connect();
	const force = invocation.flags.on("force");
	const remove = async (named: string) => {
		const session = force ? named : idOfEnded(await lookAt(invocation, client, named));
		return client.call("close", { session, force, forget: true });
	};
	const answer = await onSession(client, invocation.words[0]!, remove);
	invocation.io.out(
		invocation.json ? `${JSON.stringify(answer.facts)}\n` : `Removed ${answer.facts.name}.${stillRuns(answer.facts)}\n`,
	);
	return EXIT.ok;
}

/** Its id, not its name, which may be another's by now. What has ended and left nothing running stays like that. */
function idOfEnded({ session, name, status, left }: SessionFacts): string {
	const what = status === "running" || status === "starting" ? "program" : left && "background";
	if (what === undefined) return session;
	throw new Fault("still_running", { id: name, sessionId: session, what, ...(left && { processes: left }) });
}

const stillRuns = ({ survivors = [] }: Pick<SessionFacts, "survivors">) =>
	survivors.length === 0
		? ""
		: ` Could not end ${survivors.map(({ pid, command }) => `${command} (${pid})`).join(", ")}.`;

/** Any tool by name: its facts as one JSON object. */
export async function call(invocation: Invocation): Promise<number> {
	const [tool = "", ...json] = invocation.words;
	let input: unknown;
	try {
		input = JSON.parse((await textOf(json, invocation.io)) ?? "{}");
	} catch (error) {
		throw badInput(`the input is not JSON (${(error as Error).message})`);
	}
	await using client = await invocation.dependencies.connect();
	const answer = await client.call(tool, input);
	invocation.io.out(`${invocation.flags.on("text") ? answer.text : JSON.stringify(answer.facts)}\n`);
	return answer.refused === undefined ? EXIT.ok : exitCodeOfFault(answer.refused);
}

export function toolSets(flags: Flags): readonly ToolSet[] {
	const names = flags.list("tools").flatMap((value) => value.split(","));
	const sets = names.map((name) => {
		const set = TOOL_SETS.find((one) => one === name);
		if (set === undefined) throw badInput(`--tools takes ${TOOL_SETS.join(", ")}, not "${name}"`);
		return set;
	});
	return sets.length > 0 ? sets : ["native"];
}

export async function tools(invocation: Invocation): Promise<number> {
	const cards = await invocation.dependencies.toolCards(toolSets(invocation.flags));
	const { io } = invocation;
	if (invocation.json) io.out(`${JSON.stringify({ tools: cards })}\n`);
	else {
		const rows = cards.map(({ name, effect, description }) => [name, effect, description.split(/(?<=\.)\s/)[0]!]);
		io.out(
			table([["TOOL", "EFFECT", "WHAT IT DOES"], ...rows], io.stdout.isTTY ? fitted(io.stdout.columns) : undefined),
		);
	}
	return EXIT.ok;
}
