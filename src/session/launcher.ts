// How sessions are started: one at a time for each name of an owner, within the limits, and
// recorded before they are launched, so that the next daemon finds them.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SessionRecord } from "../journal/records.ts";
import { makeSessionDirectory } from "../journal/session-directories.ts";
import { Fault } from "../protocol/fault.ts";
import { PtyCreationError } from "../pty/errors.ts";
import { HOLDER } from "../pty/launch.ts";
import type { LaunchSpec } from "../pty/launch-block.ts";
import type { Places } from "../pty/places.ts";
import type { Survivor } from "../pty/pty.ts";
import { confined, SandboxError } from "../pty/sandbox.ts";
import { mustBeConfined } from "./confinement.ts";
import type { Drawing } from "./display.ts";
import { startedId } from "./identity.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import type { Learnt } from "./learnt.ts";
import type { NetworkProxies } from "./network-proxies.ts";
import type { Options } from "./options.ts";
import type { Registry } from "./registry.ts";
import { sessionOf } from "./revive.ts";
import type { Secrets } from "./secrets.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";
import { prepareShell } from "./shell/prepare.ts";
import { type ConfinedSpec, environmentOf, newRecord, type StartSpec } from "./start-spec.ts";
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
	readonly secrets: Secrets;
	readonly registry: Registry;
	readonly proxies: NetworkProxies;
	/** Settles its sandbox; throws where it has to have one and cannot. */
	readonly confine: (spec: StartSpec) => Promise<ConfinedSpec>;
	/** Its sessions end with this process. */
	readonly endsWithOwner?: boolean | undefined;
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
	async start(asked: StartSpec): Promise<Session> {
		this.#refuse();
		const spec = await this.#parts.confine(asked);
		const { id } = spec;
		return id === undefined ? this.#start(spec) : this.#names.run(`id ${id}`, () => this.#once(id, spec));
	}

	/** What a repeated start has started before. */
	async #once(id: string, spec: ConfinedSpec): Promise<Session> {
		const { registry, places } = this.#parts;
		// A try of which nothing ran leaves an id that is not used again: the next one is made from it.
		for (let next = id; ; next = startedId(next, id)) {
			const slot = await registry.useId(next, (known) => known);
			if (slot === null) {
				if (existsSync(join(places.sessions, next))) continue;
				return this.#start({ ...spec, id: next });
			}
			const { state, exit, owner } = slot.record;
			if (owner !== spec.caller.owner || (state === "failed" && exit === null)) continue;
			await spec.mustReach?.(slot.record);
			if (spec.confinedBy !== null) mustBeConfined(slot.record, spec.confinedBy);
			return slot.session();
		}
	}

	async #start(spec: ConfinedSpec): Promise<Session> {
		const { name, ifExists = "fail" } = spec;
		if (name === undefined) return this.#launch(spec);
		if (ifExists === "fail") this.#refuse(spec);
		const start = () => this.#names.run(`${name} ${spec.caller.owner}`, () => this.#startNamed(name, spec));
		if (ifExists !== "replace") return start();
		// Two identical concurrent replacements are one: neither caller has its session ended by the other.
		const { caller, mustReach: _, ...what } = spec;
		const env = environmentOf(spec, this.#parts.options);
		const key = JSON.stringify([{ ...caller, env }, caller.env.SHELL, what]);
		const replacing = this.#replacing.get(key) ?? start().finally(() => this.#replacing.delete(key));
		this.#replacing.set(key, replacing);
		return replacing;
	}

	/** A second caller gets the session that the first one started. */
	async #startNamed(name: string, spec: ConfinedSpec): Promise<Session> {
		const { endGraceMs } = this.#parts.options;
		const names = this.#parts.registry.namesOf(spec.caller.owner);
		const existing = names.runningNamed(name);
		if (existing !== null && spec.ifExists !== "fail") await spec.mustReach?.(existing.record);
		if (existing !== null && spec.ifExists === "use") {
			if (spec.confinedBy !== null) mustBeConfined(existing.record, spec.confinedBy);
			existing.touch();
			const session = await existing.session();
			if (!session.ended) return session; // its holder may have died
		}
		if (existing !== null && spec.ifExists === "replace") await existing.end(endGraceMs);
		for (const slot of names.leftNamed(name)) {
			if (spec.ifExists === "replace") {
				await spec.mustReach?.(slot.record);
				await slot.end(endGraceMs);
			} else refuseLeft(slot.record, await slot.left());
		}
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
		const names = this.#parts.registry.namesOf(caller.owner);
		if (names.runningNamed(name) !== null) throw new Fault("name_taken", { name });
		const unread = names.unreadNamed(name);
		if (unread !== null)
			throw new Fault("session_unreachable", { id: name, sessionId: unread.id, problem: unread.reason ?? "" });
	}

	#launch(spec: ConfinedSpec): Promise<Session> {
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

	/** A variable that is a secret's source reaches a program only where its caller sets it by name. */
	#withoutSecrets(env: Record<string, string>, { env: explicit = {} }: StartSpec): Record<string, string> {
		for (const name of this.#parts.secrets.variables()) if (!(name in explicit)) delete env[name];
		return env;
	}

	async #launched(slot: SessionSlot, spec: ConfinedSpec): Promise<Session> {
		const { places, options, drawing, learnt, epoch, terminals } = this.#parts;
		const { id, argv, cwd, cols, rows, command, place } = slot.record;
		await makeSessionDirectory(places.sessions, id);
		const env = this.#withoutSecrets(environmentOf(spec, options), spec);
		// Before the record: whoever finds that finds all that it needs.
		const shell = spec.shell === undefined ? null : await prepareShell(slot.directory, spec.shell, env);
		await slot.writeRecord();
		try {
			const launch = {
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
				endsWithOwner: this.#parts.endsWithOwner === true,
			};
			const pty = await terminals.launch(await this.#confined(slot, launch, shell?.commands.identity.dir));
			return sessionOf({ slot, pty, options, drawing, learnt, commands: shell?.commands ?? null });
		} catch (error) {
			await this.#parts.proxies.close(id);
			if (error instanceof SandboxError || (error instanceof PtyCreationError && error.stage === "sandbox"))
				throw new Fault("sandbox_unavailable", { problem: error.message }, { cause: error });
			if (!(error instanceof PtyCreationError)) throw error;
			const { stage, code, message } = error;
			// A shell that is not there is no fault of the command line that it was to run.
			const what = stage === "exec" ? (shell?.argv ?? argv)[0]! : command;
			throw new Fault(
				"spawn_failed",
				{ stage, code, message, command: what, ...(stage === "chdir" && { cwd }), ...(place && { in: place.in }) },
				{ cause: error },
			);
		}
	}

	/** In its sandbox, where it has one; `shared` is where a shell and we hand commands over. */
	async #confined({ record }: SessionSlot, launch: LaunchSpec, shared: string | undefined): Promise<LaunchSpec> {
		if (record.sandbox === null) return launch;
		const proxySocket = await this.#parts.proxies.open(record).catch((cause: Error) => {
			throw new SandboxError("no_proxy", `its network cannot be limited: ${cause.message}`, { cause });
		});
		const ofShell = shared === undefined ? {} : { also: [shared], programs: [HOLDER] };
		return confined(launch, record.sandbox, { ...ofShell, proxySocket });
	}
}

/** A second copy beside what runs of the first would not be noticed. */
function refuseLeft({ id, name }: SessionRecord, left: readonly Survivor[]): void {
	if (left.length === 0) return;
	const processes = left.map(({ pid, command }) => ({ pid, command }));
	throw new Fault("still_running", { id: name, sessionId: id, what: "background", wanted: "start", processes });
}
