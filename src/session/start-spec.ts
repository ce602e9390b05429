// What is asked of a start, and the session as it is slot from that moment on:
// recorded and counted before there is a process.

import { isAbsolute, join, resolve } from "node:path";
import { RecordFile } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { PROTOCOL_VERSION } from "../protocol/frames.ts";
import { bootId } from "../pty/boot-id.ts";
import type { Limits } from "../pty/launch-block.ts";
import type { Places } from "../pty/places.ts";
import { nameFor, newId } from "./identity.ts";
import type { Options } from "./options.ts";
import type { SessionSlot } from "./registry.ts";
import type { ShellSpec } from "./shell/prepare.ts";

/** Who asks for a session: what it inherits, and whose it is. */
export interface Starter {
	readonly owner: string;
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	readonly parent?: string;
}

export interface StartSpec {
	readonly command?: string | undefined;
	readonly argv?: readonly string[] | undefined;
	readonly name?: string | undefined;
	readonly cwd?: string | undefined;
	readonly env?: Readonly<Record<string, string>> | undefined;
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
	readonly caller: Starter;
}

export function newSlot(
	spec: StartSpec,
	parts: { places: Places; options: Options; nameIsTaken: (name: string) => boolean },
): SessionSlot {
	const { places, options, nameIsTaken } = parts;
	const { argv, command, cwd } = commandOf(spec);
	const id = newId();
	const now = Date.now();
	const directory = join(places.sessions, id);
	return {
		record: {
			id,
			name: spec.name ?? nameFor(command, nameIsTaken),
			command,
			argv,
			cwd,
			state: "starting",
			pid: null,
			exit: null,
			reason: null,
			createdAt: now,
			updatedAt: now,
			resolvedAt: null,
			bytesOut: 0,
			linesOut: 0,
			lastLine: "",
			parent: spec.caller.parent ?? null,
			owner: spec.caller.owner,
			bootId: bootId(),
			protocol: PROTOCOL_VERSION,
			cols: spec.cols ?? options.cols,
			rows: spec.rows ?? options.rows,
			keep: spec.keep ?? false,
		},
		directory,
		file: new RecordFile(directory),
		session: null,
		commands: null,
		reviving: null,
		timer: null,
		idleMs: spec.idleMs ?? options.idleMs,
		touchedAt: now,
	};
}

/** A command line goes through the caller's shell; without anything, the shell itself. */
function commandOf({ command, argv, cwd, caller }: StartSpec): {
	argv: readonly string[];
	command: string;
	cwd: string;
} {
	if (command !== undefined && argv !== undefined) {
		throw new Fault("bad_input", { problems: ["give `command` or `argv`, not both"] });
	}
	const shell = caller.env.SHELL || "/bin/bash";
	const directory = cwd === undefined ? caller.cwd : isAbsolute(cwd) ? cwd : resolve(caller.cwd, cwd);
	if (argv !== undefined) return { argv, command: argv.join(" "), cwd: directory };
	if (command !== undefined) return { argv: [shell, "-c", command], command, cwd: directory };
	return { argv: [shell], command: shell, cwd: directory };
}
