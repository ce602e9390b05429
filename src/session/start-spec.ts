// The parameters of a start, and the record made from them before there is a
// process.

import { isAbsolute, resolve } from "node:path";
import type { PlaceRecord, SandboxRecord, SessionRecord } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { PROTOCOL_VERSION } from "../protocol/frames.ts";
import { bootId } from "../pty/boot-id.ts";
import { environment, type Inherit } from "../pty/environment.ts";
import type { Limits } from "../pty/launch-block.ts";
import type { ResourceLimits } from "../pty/resource-limits.ts";
import { nameFor, newId } from "./identity.ts";
import { asInherited } from "./inheriting.ts";
import { environmentRules, type OptionName, type Options } from "./options.ts";
import type { SandboxChoice } from "./policy.ts";
import { placedArgv, placedCommand, toolOf } from "./program-place.ts";
import type { NamesInUse } from "./registry.ts";
import type { Scope } from "./scope.ts";
import type { ShellSpec } from "./shell/prepare.ts";

/** The caller: decides what is new to it, and what a session it starts inherits. */
export interface Caller {
	/** Stable for one agent, person or program: `cli`, `mcp:…`, a token's name. */
	readonly owner: string;
	/** Whose sessions are its own, where it only looks on for another. */
	readonly sessionsOf?: string | undefined;
	/** It calls by command lines: what an answer tells it to call is spelled as one. */
	readonly commandLine?: boolean | undefined;
	/** The name of this host in the fleet, for a caller on another one: to it, sessions are called `host/name`. */
	readonly onHost?: string | undefined;
	readonly cwd: string;
	/** The caller's environment without what programs do not inherit. */
	readonly env: Readonly<Record<string, string>>;
	/** The names of what was left out of it and looks like a credential. */
	readonly withheld?: readonly string[] | undefined;
	/** Both for another choice than the default. A function, so that what is withheld cannot be sent by mistake. */
	readonly inheriting?: ((inherit?: Inherit) => Pick<Caller, "env" | "withheld">) | undefined;
	readonly umask?: number | undefined;
	readonly nice?: number | undefined;
	readonly rlimits?: ResourceLimits | undefined;
	/** The agent conversation that it calls for, if known. */
	readonly parent?: string | undefined;
	/** The name of the token that it showed. Only an interface that has checked it sets this. */
	readonly token?: string | undefined;
	/** The machine that it says it calls from, where that is another. Only for words. */
	readonly from?: string | undefined;
	/** What it is limited to, by its token. */
	readonly scope?: Scope | undefined;
	/** A person at the page: they are not asked to approve what they do. Only an interface that has checked it sets this. */
	readonly person?: boolean | undefined;
	/** The session that it runs in. Only the daemon's socket sets this, by the caller's process. */
	readonly inside?: EnclosingSession | undefined;
}

/** A session, as far as it decides what callers from inside it may do. */
export type EnclosingSession = Pick<SessionRecord, "id" | "owner" | "parent" | "sandbox" | "within">;

export interface StartSpec {
	/** The id of the session. Who repeats the start gets the same one, also when it has ended. */
	readonly id?: string | undefined;
	readonly command?: string | undefined;
	/** What runs `command`: a shell and its flags; the caller's own by default. */
	readonly runBy?: readonly string[] | undefined;
	readonly argv?: readonly string[] | undefined;
	/** Run there instead of `command` and `argv`; `cwd` and `env` are then the tool's that does it. */
	readonly place?: PlaceRecord | undefined;
	readonly name?: string | undefined;
	/** Picks the name where none is given. What it returns is reserved at once: another start cannot take it. */
	readonly pickName?: ((names: NamesInUse) => string) | undefined;
	readonly cwd?: string | undefined;
	readonly env?: Readonly<Record<string, string>> | undefined;
	/** What it inherits of the caller's environment; without it, what the options say. */
	readonly inherit?: Inherit | undefined;
	readonly cols?: number | undefined;
	readonly rows?: number | undefined;
	readonly keep?: boolean | undefined;
	readonly limits?: Limits | undefined;
	readonly ifExists?: "fail" | "use" | "replace" | undefined;
	/** A tool set may promise fewer sessions, and a shorter idle time, than the daemon allows. */
	readonly maxForOwner?: number | undefined;
	readonly idleMs?: number | undefined;
	/** A shell whose commands can be told apart, instead of a program. */
	readonly shell?: ShellSpec | undefined;
	/** The agent conversation, where it is not the caller's. */
	readonly parent?: string | undefined;
	/** What the call asks for. The policy may force more. */
	readonly sandbox?: SandboxChoice | undefined;
	/** The sandbox of what is started again: kept, unless the call asks for another. */
	readonly sandboxBefore?: SandboxRecord | null | undefined;
	/** Throws where the caller may not use the session of this record. */
	readonly mustReach?: ((record: SessionRecord) => Promise<void>) | undefined;
	readonly caller: Caller;
}

/** A start whose sandbox is settled (confinement.ts). */
export interface ConfinedSpec extends StartSpec {
	readonly confinedBy: SandboxRecord | null;
}

/** The initial record of a session. */
export function newRecord(spec: ConfinedSpec, options: Options, names: NamesInUse): SessionRecord {
	const { argv, command, cwd, called = command } = commandOf(spec);
	const now = Date.now();
	return {
		id: spec.id ?? newId(),
		name: spec.name ?? spec.pickName?.(names) ?? nameFor(called, (name) => names.nameIsTaken(name)),
		command,
		argv,
		cwd,
		state: "starting",
		pid: null,
		born: null,
		holder: null,
		exit: null,
		reason: null,
		createdAt: now,
		updatedAt: now,
		resolvedAt: null,
		bytesOut: 0,
		linesOut: 0,
		lastLine: "",
		truncated: false,
		parent: spec.parent ?? spec.caller.parent ?? null,
		owner: spec.caller.owner,
		bootId: bootId(),
		protocol: PROTOCOL_VERSION,
		cols: spec.cols ?? options.cols,
		rows: spec.rows ?? options.rows,
		keep: spec.keep ?? false,
		idleMs: spec.idleMs ?? null,
		env: spec.env ?? {},
		inherit: spec.inherit ?? null,
		limits: limitsOf(spec.limits, options),
		shell: spec.shell?.name ?? null,
		sandbox: spec.confinedBy,
		place: spec.place ?? null,
		within: spec.caller.inside === undefined ? [] : [...spec.caller.inside.within, spec.caller.inside.id],
		terminalOpen: true,
	};
}

const LIMITS = {
	cpuSeconds: "limitCpuSeconds",
	memoryBytes: "limitMemoryBytes",
	processes: "limitProcesses",
	openFiles: "limitOpenFiles",
	fileBytes: "limitFileBytes",
	wallMs: "limitWallMs",
	outputBytesPerSecond: "limitOutputBytesPerSecond",
} as const satisfies Partial<Record<keyof Limits, OptionName>>;

/** The limits of a session: those of the options, which a call may lower (R2.13). */
export function limitsOf(asked: Limits = {}, options: Options): Readonly<Record<string, number | undefined>> {
	const limits: Record<string, number | undefined> = { ...asked };
	for (const [name, option] of Object.entries(LIMITS)) {
		const most = options[option] || Number.POSITIVE_INFINITY;
		const least = Math.min(most, limits[name] ?? Number.POSITIVE_INFINITY);
		if (Number.isFinite(least)) limits[name] = least;
	}
	return limits;
}

/** The environment of its program. */
export function environmentOf({ caller, env: explicit, inherit }: StartSpec, options: Options): Record<string, string> {
	const rules = environmentRules(options);
	const { env } = asInherited(caller, inherit);
	return environment({ ...rules, caller: env, inherit: inherit ?? rules.inherit, explicit: explicit ?? {} });
}

/** A command line runs in the caller's shell; without one, the shell itself, or the one that is asked for. */
function commandOf({ command, runBy, argv, place, shell: asShell, cwd, caller }: StartSpec): {
	argv: readonly string[];
	command: string;
	cwd: string;
	/** What its name is made of, where that is not the command. */
	called?: string;
} {
	if (command !== undefined && argv !== undefined) {
		throw new Fault("bad_input", { problems: ["give `command` or `argv`, not both"] });
	}
	const shell = caller.env.SHELL || "/bin/bash";
	const directory = cwd === undefined ? caller.cwd : isAbsolute(cwd) ? cwd : resolve(caller.cwd, cwd);
	if (place !== undefined) {
		const isShell = place.command === null && place.argv === null;
		const what = { argv: placedArgv(place), command: placedCommand(place), cwd: directory };
		return isShell ? { ...what, called: toolOf(place) } : what;
	}
	if (argv !== undefined) return { argv, command: argv.join(" "), cwd: directory };
	if (command !== undefined) return { argv: [...(runBy ?? [shell, "-c"]), command], command, cwd: directory };
	const program = asShell?.program ?? shell;
	return { argv: [program], command: program, cwd: directory };
}
