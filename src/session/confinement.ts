// Which sandbox a session gets: what the policy forces on its caller, what the session has in which the caller
// itself runs, and what the call asks for. Of several that are forced the strictest counts; what a call asks for
// is refused where it is wider. How a program is confined is in pty/sandbox.ts.
//
// Under a forced sandbox only the very paths that it names can be asked for, not what is below them: a confined
// program could replace a directory below its workspace by a link to another place before it is mounted.

import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { SandboxRecord, SessionRecord } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { isAbout, type PolicyFile, type SandboxSpec } from "./policy.ts";
import type { Caller, ConfinedSpec, StartSpec } from "./start-spec.ts";

/** The same start with its sandbox, and the directory and environment that it has there. */
export async function confined(spec: StartSpec, policy: PolicyFile): Promise<ConfinedSpec> {
	const { caller, sandbox: asked, sandboxBefore } = spec;
	const inherited = [caller.inside?.sandbox, asked === undefined ? sandboxBefore : null].filter((one) => one != null);
	// Not of what is started again: that may have been another's, with a workspace of its own.
	const workspace = caller.inside?.sandbox?.workspace ?? caller.cwd;
	const rows = rowsFor(caller, policy, spec.parent);
	const forced = strictest([...(await Promise.all(rows.map((row) => resolved(row, { workspace })))), ...inherited]);
	const choice = asked === undefined || asked === false ? null : specOf(asked, policy);
	if (asked === false && forced !== null) throw exceeded("it cannot be left");
	const directory = resolve(caller.cwd, spec.cwd ?? ".");
	const wanted =
		choice === null || (asked === true && forced !== null)
			? null
			: await resolved(choice, { workspace: forced?.workspace ?? directory, relativeTo: directory });
	if (wanted !== null && forced !== null) mustBeWithin(wanted, forced);
	const confinedBy = wanted ?? forced;
	if (confinedBy === null) return { ...spec, confinedBy };
	const env = Object.assign({}, choice?.env, spec.env, ...rows.map((row) => row.env));
	return { ...spec, cwd: await directoryIn(confinedBy, spec, directory), env, confinedBy };
}

/** What the policy and its own session force on a caller who uses this session; null where nothing does. */
export async function forcedOn(
	caller: Caller,
	{ owner, sandbox }: Pick<SessionRecord, "owner" | "sandbox">,
	policy: PolicyFile,
): Promise<SandboxRecord | null> {
	const inherited = caller.inside?.sandbox ?? null;
	const own = owner === caller.owner ? sandbox?.workspace : undefined;
	const workspace = inherited?.workspace ?? own ?? caller.cwd;
	const rows = rowsFor(caller, policy);
	const forced = await Promise.all(rows.map((row) => resolved(row, { workspace })));
	return strictest([...forced, ...(inherited === null ? [] : [inherited])]);
}

/** Throws where a caller could do more in this session than in its own sandbox. */
export function mustBeConfined({ name, sandbox }: SessionRecord, by: SandboxRecord): void {
	const problem = sandbox === null ? "is not confined" : whyWider(sandbox, by);
	if (problem !== null) throw exceeded(`session ${name} ${sandbox === null ? problem : `is wider (${problem})`}`);
}

/** The first row about the caller; and about the conversation that it names, which must not be a way around its own. */
function rowsFor(caller: Caller, policy: PolicyFile, parent = caller.parent): readonly SandboxSpec[] {
	const first = (who: Caller) => policy.confine.find((row) => isAbout(row, who));
	const rows = new Set([first(caller), first({ ...caller, parent })]);
	rows.delete(undefined);
	return [...rows].map((row) => specOf(row!.sandbox, policy));
}

function specOf(choice: string | true | SandboxSpec, policy: PolicyFile): SandboxSpec {
	if (choice === true) return policy.sandboxes.default ?? {};
	if (typeof choice !== "string") return choice;
	const profile = Object.hasOwn(policy.sandboxes, choice) ? policy.sandboxes[choice] : undefined;
	if (profile !== undefined) return profile;
	const known = Object.keys(policy.sandboxes).join(", ");
	throw unavailable(`policy.json has no sandbox "${choice}"${known === "" ? "" : `, only ${known}`}`);
}

interface Defaults {
	readonly workspace: string;
	/** Without it paths must be absolute: the policy is not the caller's to interpret. */
	readonly relativeTo?: string;
}

async function resolved(spec: SandboxSpec, defaults: Defaults): Promise<SandboxRecord> {
	const real = async (path: string) => {
		const home = /^~(?=\/|$)/.test(path) ? join(homedir(), path.slice(1)) : path;
		if (!isAbsolute(home) && defaults.relativeTo === undefined)
			throw unavailable(`${path} in policy.json is not absolute`);
		return realpath(resolve(defaults.relativeTo ?? "/", home)).catch((cause: NodeJS.ErrnoException) => {
			throw unavailable(`${path} is not there (${cause.code})`);
		});
	};
	const all = (paths: readonly string[] = []) => Promise.all(paths.map(real));
	const workspace = await real(spec.workspace ?? defaults.workspace);
	if (!(await stat(workspace)).isDirectory()) throw unavailable(`its workspace ${workspace} is not a directory`);
	return { workspace, ro: await all(spec.ro), rw: await all(spec.rw), network: spec.network ?? "none" };
}

/** One that is within all others; null of none. Where none is, nothing can be started that would keep to all. */
function strictest(all: readonly SandboxRecord[]): SandboxRecord | null {
	if (all.length === 0) return null;
	const found = all.find((one) => all.every((other) => whyWider(one, other) === null));
	if (found === undefined)
		throw unavailable("the sandboxes that apply to you differ, and none of them is within all others");
	return found;
}

function mustBeWithin(wanted: SandboxRecord, forced: SandboxRecord): void {
	const problem = whyWider(wanted, forced);
	if (problem !== null) throw exceeded(problem);
}

/** What the first one allows and the second does not; null where there is nothing. */
function whyWider(one: SandboxRecord, other: SandboxRecord): string | null {
	const writable = new Set([other.workspace, ...other.rw]);
	const readable = new Set([...writable, ...other.ro]);
	const written = [one.workspace, ...one.rw].find((path) => !writable.has(path));
	if (written !== undefined) return `${written} may not be written`;
	const read = one.ro.find((path) => !readable.has(path));
	if (read !== undefined) return `${read} may not be read`;
	const unprotected = other.ro.find((path) => !writable.has(path) && isWritten(path, one));
	if (unprotected !== undefined) return `${unprotected} may not be written`;
	return reaches(one.network, other.network) ? null : "more of the network";
}

/** Of what is mounted over it the deepest counts, and of the same path the read-only one. */
function isWritten(path: string, { workspace, ro, rw }: SandboxRecord): boolean {
	const deepest = (paths: readonly string[]) =>
		Math.max(-1, ...paths.filter((one) => isBelow(path, one)).map(({ length }) => length));
	return deepest([workspace, ...rw]) > deepest(ro);
}

/** Whether the second network has all of the first. */
function reaches(one: SandboxRecord["network"], other: SandboxRecord["network"]): boolean {
	if (one === "none" || other === "host") return true;
	if (one === "host" || other === "none") return false;
	return one.allow.every((host) => other.allow.includes(host));
}

/** The directory that was asked for, if it is there inside; else the caller's own, or the workspace. */
async function directoryIn({ workspace, ro, rw }: SandboxRecord, spec: StartSpec, directory: string): Promise<string> {
	const real = await realpath(directory).catch(() => directory);
	if ([workspace, ...ro, ...rw].some((path) => isBelow(real, path))) return real;
	if (spec.cwd === undefined) return workspace;
	throw exceeded(`the directory ${directory} is outside of its workspace ${workspace}`);
}

const isBelow = (path: string, directory: string) => {
	const way = relative(directory, path);
	return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
};

const unavailable = (problem: string) => new Fault("sandbox_unavailable", { problem });
const exceeded = (problem: string) => new Fault("sandbox_exceeded", { problem });
