// What the person who owns this machine has decided: which callers are confined, who must ask,
// which secrets there are. One file, `policy.json` beside the sessions, that only its owner can
// write. Never read from a working directory, and never written by us. While it cannot be used,
// nothing that it could forbid is done.

import { join } from "node:path";
import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { CheckedFile } from "../pty/checked-file.ts";
import type { Caller } from "./start-spec.ts";

export const POLICY_FILE = "policy.json";

/** `mcp:*`: a star is any text. */
const glob = z.string().min(1).max(1000);
const path = z.string().min(1).max(4096);

/** Whom a rule is about: every field that is given must match. None: everybody. */
const who = {
	owner: z.exactOptional(glob),
	/** The name of a token. */
	token: z.exactOptional(glob),
	/** The conversation. */
	parent: z.exactOptional(glob),
};
export type Who = Readonly<{ owner?: string; token?: string; parent?: string }>;

/** What a confined program may see and reach. Also what `start { sandbox }` takes. */
export const sandboxSpec = z.strictObject({
	/** May be written; the session's working directory by default. */
	workspace: z.exactOptional(path),
	ro: z.exactOptional(z.array(path).max(100)),
	rw: z.exactOptional(z.array(path).max(100)),
	network: z.exactOptional(
		z.union([z.enum(["none", "host"]), z.strictObject({ allow: z.array(z.string().min(1).max(255)).min(1).max(100) })]),
	),
	/** More variables for its environment. */
	env: z.exactOptional(z.record(z.string().min(1).max(255), z.string().max(131_071))),
});
export type SandboxSpec = Readonly<z.infer<typeof sandboxSpec>>;

const profileName = z.string().regex(/^(?!(?:true|false)$)[\w.-]{1,100}$/, "the name of a profile in policy.json");
/** What a call may ask for: a profile's name; true: the profile "default", or the working directory and no network. */
export const sandboxChoice = z.union([z.boolean(), profileName, sandboxSpec]);
export type SandboxChoice = Readonly<z.infer<typeof sandboxChoice>>;

/** Where the value of a named secret is. */
const secretSource = z.union([
	z.strictObject({ file: path }),
	/** Of the daemon's environment: the name of a variable. */
	z.strictObject({ env: z.string().regex(/^\w{1,255}$/) }),
	/** Run without a shell; what it prints is the value. */
	z.strictObject({ command: z.array(z.string().min(1).max(4096)).min(1).max(100) }),
	/** A person types it each time. */
	z.strictObject({ person: z.literal(true) }),
]);
export type SecretSource = Readonly<z.infer<typeof secretSource>>;

const namedSecret = z.strictObject({
	from: secretSource,
	/** Who may have it typed; everybody by default. */
	owners: z.exactOptional(z.array(glob).max(100)),
	/** Executables that may ask for it. */
	programs: z.exactOptional(z.array(path.startsWith("/")).min(1).max(100)),
	description: z.exactOptional(z.string().max(1000)),
});
export type NamedSecret = Readonly<z.infer<typeof namedSecret>>;

/** What happens to a call. Every field that is given must match; the first rule that does counts. */
const rule = z.strictObject({
	...who,
	/** A tool by its name, or everything that `starts`, `types` or `ends`, of any tool set. */
	tool: z.exactOptional(glob),
	/** A command that is run or entered at a shell, after shell parsing: `git push *`. */
	command: z.exactOptional(glob),
	/** By name: `KILL`. */
	signal: z.exactOptional(glob),
	/** Done to a session of another owner. */
	othersSession: z.exactOptional(z.literal(true)),
	then: z.enum(["allow", "ask", "deny"]),
	/** Told to the caller. */
	because: z.exactOptional(z.string().min(1).max(1000)),
});
export type Rule = Readonly<z.infer<typeof rule>>;

const policyFile = z.strictObject({
	/** Named profiles. */
	sandboxes: z.record(profileName, sandboxSpec).default({}),
	/** Who is confined, whatever a call asks for: the first row that matches. */
	confine: z.array(z.strictObject({ ...who, sandbox: z.union([z.string().min(1), sandboxSpec]) })).default([]),
	/** What a program inside a session may use: what was started from inside it, or everything. */
	inside: z.enum(["own", "all"]).default("own"),
	/** Whether callers in another namespace, or with no_new_privs, are served: what they start would run outside of theirs. */
	elsewhere: z.enum(["refuse", "allow"]).default("refuse"),
	/** What is allowed, needs a person, or is refused. */
	rules: z.array(rule).max(1000).default([]),
	/** What `send { secret }` can type. */
	secrets: z.record(z.string().regex(/^[\w.-]{1,100}$/), namedSecret).default({}),
});
export type PolicyFile = Readonly<z.infer<typeof policyFile>>;

const EMPTY: PolicyFile = policyFile.parse({});

export class Policy {
	readonly #file: CheckedFile<PolicyFile>;

	constructor(state: string) {
		this.#file = new CheckedFile(join(state, POLICY_FILE), {
			parse: (value) => policyFile.parse(value),
			absent: EMPTY,
		});
	}

	/** As the file says now. */
	current(): PolicyFile {
		const read = this.#file.read();
		if ("problem" in read) throw new Fault("policy_invalid", { problem: read.problem }, { cause: read.cause });
		return read.value;
	}
}

/** Whether a rule is about this caller. */
export function isAbout(who: Who, { owner, token, parent }: Pick<Caller, "owner" | "token" | "parent">): boolean {
	const fits = (pattern: string | undefined, value: string | undefined) =>
		pattern === undefined || (value !== undefined && matchesGlob(pattern, value));
	return fits(who.owner, owner) && fits(who.token, token) && fits(who.parent, parent);
}

/** A star is any text; everything else is itself. */
export function matchesGlob(pattern: string, value: string): boolean {
	const [first = "", ...rest] = pattern.split("*");
	if (!value.startsWith(first)) return false;
	if (rest.length === 0) return value === first;
	const last = rest.pop()!;
	let at = first.length;
	for (const part of rest) {
		const found = value.indexOf(part, at);
		if (found < 0) return false;
		at = found + part.length;
	}
	return value.length - last.length >= at && value.endsWith(last);
}
