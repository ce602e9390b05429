// How sessions are started: one at a time for each name of an owner, within the limits, and
// recorded before they are launched, so that the next daemon finds them.

import { makeSessionDirectory } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { PtyCreationError } from "../pty/errors.ts";
import type { Places } from "../pty/places.ts";
import type { Drawing } from "./display.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import type { Learnt } from "./learnt.ts";
import type { Options } from "./options.ts";
import type { Registry } from "./registry.ts";
import { sessionOf } from "./revive.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";
import { prepareShell } from "./shell/prepare.ts";
import { environmentOf, newRecord, type StartSpec } from "./start-spec.ts";
import type { Terminals } from "./terminals.ts";

/** For a caller that names none: what login(1) would give, not the daemon's own. */
const DEFAULT_UMASK = 0o022;

export interface LauncherParts {
	readonly places: Places;
	readonly options: Options;
	readonly drawing: Drawing;
	readonly learnt: Learnt;
	readonly epoch: number;
	readonly terminals: Terminals;
	readonly registry: Registry;
}

export class Launcher {
	readonly #parts: LauncherParts;
	readonly #names = new KeyedQueue();
	/** Replacements in progress, by what is to be started. */
	readonly #replacing = new Map<string, Promise<Session>>();
	#stopped = false;

	constructor(parts: LauncherParts) {
		this.#parts = parts;
	}

	/** Settles when the program runs. */
	async start(spec: StartSpec): Promise<Session> {
		this.#refuse();
		const { name, ifExists = "fail" } = spec;
		if (name === undefined) return this.#launch(spec);
		if (ifExists === "fail") this.#refuse(spec);
		const start = () => this.#names.run(`${name} ${spec.caller.owner}`, () => this.#startNamed(name, spec));
		if (ifExists !== "replace") return start();
		// Two identical concurrent replacements are one: neither caller has its session ended by the other.
		const { caller, ...what } = spec;
		const env = environmentOf(spec, this.#parts.options);
		const key = JSON.stringify([{ ...caller, env }, caller.env.SHELL, what]);
		const replacing = this.#replacing.get(key) ?? start().finally(() => this.#replacing.delete(key));
		this.#replacing.set(key, replacing);
		return replacing;
	}

	/** A second caller gets the session that the first one started. */
	async #startNamed(name: string, spec: StartSpec): Promise<Session> {
		const existing = this.#parts.registry.namesOf(spec.caller.owner).runningNamed(name);
		if (existing !== null && spec.ifExists === "use") {
			existing.touch();
			return existing.session();
		}
		if (existing !== null && spec.ifExists === "replace") await existing.end(this.#parts.options.endGraceMs);
		this.#refuse(spec);
		return this.#launch(spec);
	}

	/** Refuses further starts, including pending ones. */
	stop(): void {
		this.#stopped = true;
	}

	#refuse(spec?: StartSpec): void {
		if (this.#stopped) throw new Fault("no_daemon", { problem: "it is stopping" });
		if (spec?.name === undefined) return;
		const { name, caller } = spec;
		if (this.#parts.registry.namesOf(caller.owner).runningNamed(name) !== null) throw new Fault("name_taken", { name });
	}

	#launch(spec: StartSpec): Promise<Session> {
		this.#refuse();
		const { registry, options } = this.#parts;
		registry.refuseTooMany(spec.caller.owner, {
			all: options.maxSessions,
			owner: spec.maxForOwner ?? options.maxSessions,
		});
		const record = newRecord(spec, options, registry.namesOf(spec.caller.owner));
		// From here on the name is taken and the session counts towards the limit, also for a concurrent start.
		return registry.add(record, (slot) => this.#launched(slot, spec)).session();
	}

	async #launched(slot: SessionSlot, spec: StartSpec): Promise<Session> {
		const { places, options, drawing, learnt, epoch, terminals } = this.#parts;
		const { id, argv, cwd, cols, rows, command } = slot.record;
		await makeSessionDirectory(places.sessions, id);
		await slot.writeRecord();
		const env = environmentOf(spec, options);
		const shell = spec.shell === undefined ? null : await prepareShell(slot.directory, spec.shell, env);
		try {
			const pty = await terminals.launch({
				directory: slot.directory,
				socketPath: places.socketFor(id),
				argv: shell?.argv ?? argv,
				env: { ...env, ...shell?.env },
				cwd,
				cols,
				rows,
				epoch: BigInt(epoch),
				quotaBytes: options.quotaBytes,
				umask: spec.caller.umask ?? DEFAULT_UMASK,
				...(spec.caller.nice === undefined ? {} : { nice: spec.caller.nice }),
				...(spec.caller.rlimits === undefined ? {} : { rlimits: spec.caller.rlimits }),
				limits: slot.record.limits,
			});
			return sessionOf({ slot, pty, options, drawing, learnt, commands: shell?.commands ?? null });
		} catch (error) {
			if (!(error instanceof PtyCreationError)) throw error;
			const { stage, code, message } = error;
			throw new Fault("spawn_failed", { stage, code, message, command }, { cause: error });
		}
	}
}
