// What the audit log says of calls, people and approvals: who did what, never what was typed. Everything from
// outside is cleaned to one line, so that no line can be forged and none can act on a terminal.

import { createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { readRegular, replaceFile } from "../journal/audit-chain.ts";
import { type AuditLog, makeAuditDirectory } from "../journal/audit-log.ts";
import { oneLine } from "../protocol/clean.ts";
import type { DriverFacts, PersonAct } from "../protocol/driver.ts";
import type { ApprovalChange } from "../session/approvals.ts";
import type { Asked } from "./deeds.ts";
import type { Caller, Effect } from "./tool.ts";

const KEY_FILE = "key";
const KEY_BYTES = 32;
const COMMAND_CHARS = 1000;
const PATH_CHARS = 4096;
const DAY_MS = 24 * 3_600_000;
const MAX_TOKENS = 1000;

/** The session that a call is about. */
export interface Target {
	readonly id: string;
	readonly name: string;
	readonly owner: string | null;
	/** It asks for a secret: how long an answer is tells something about it. */
	readonly isSecret: boolean;
}

export class AuditTrail {
	readonly #log: AuditLog;
	readonly #usedOn = new Map<string, number>();
	/** Calls that have to say yet which session they are about. */
	readonly #untold = new Set<string>();
	#key: Buffer | null = null;

	constructor(log: AuditLog) {
		this.#log = log;
	}

	/** A call that does more than read, before it is done. Returns the id that its outcome is told by. */
	call(tool: { readonly name: string; readonly effect: Effect }, asked: Asked, { caller, target }: Context): string {
		const call = randomBytes(4).toString("hex");
		this.#log.add({
			do: verbOf(tool.effect, asked),
			call,
			tool: tool.name,
			...by(caller),
			...on(target),
			...this.#said(asked, target),
		});
		if (target === null) this.#untold.add(call);
		return call;
	}

	/** Which session it was, where the call did not say it. */
	done(call: string, caller: Caller, facts: object): void {
		if (!this.#untold.delete(call)) return;
		const { session, terminal_id, session_id, process_id, name } = facts as Readonly<Record<string, unknown>>;
		const id = session ?? terminal_id ?? session_id ?? process_id;
		if (id === undefined) return;
		const called = typeof name === "string" ? { name: oneLine(name) } : {};
		this.#log.add({ do: "done", call, ...by(caller), session: oneLine(String(id)), ...called });
	}

	refused(call: string, tool: string, caller: Caller, fault: string): void {
		this.#untold.delete(call);
		this.#log.add({ do: "refused", call, tool: oneLine(tool), ...by(caller), fault });
	}

	/** The first use of a token on a day. */
	used(caller: Caller): void {
		if (caller.token === undefined) return;
		const day = Math.floor(Date.now() / DAY_MS);
		const key = `${caller.owner} ${caller.token}`;
		if (this.#usedOn.get(key) === day) return;
		if (this.#usedOn.size >= MAX_TOKENS) this.#usedOn.clear();
		this.#usedOn.set(key, day);
		this.#log.add({ do: "token-used", ...by(caller) });
	}

	/** Keys are too many for a line each: taking over and handing back say when a person typed. */
	person(target: Target, act: PersonAct, driver: DriverFacts): void {
		if (act.act === "keys" || act.act === "paste") return;
		const who = "who" in act ? act.who : driver.kind === "person" ? driver.who : "unknown";
		const note = act.act === "hand-back" && act.note ? { note: oneLine(act.note) } : {};
		const size = act.act === "resize" ? { cols: act.cols, rows: act.rows } : {};
		const to = act.act === "rename" ? { to: oneLine(act.name) } : {};
		this.#log.add({ do: act.act, owner: `person:${oneLine(who)}`, ...on(target), ...note, ...size, ...to });
	}

	approval(change: ApprovalChange): void {
		const { id, owner, session, name, what } = change.approval;
		const about = { approval: id, of: owner, ...(session !== null && { session, name }) };
		if (change.is === "wanted") this.#log.add({ do: "ask", owner, ...about, what: oneLine(what, COMMAND_CHARS) });
		if (change.is === "expired") this.#log.add({ do: "expired", ...about });
		if (change.is === "decided") {
			const { approve, who, note = "" } = change.decision;
			const said = note === "" ? {} : { note: oneLine(note) };
			this.#log.add({ do: approve ? "approve" : "deny", owner: `person:${oneLine(who)}`, ...about, ...said });
		}
	}

	/** A file of rights is another than before. */
	noticed(what: "policy" | "token", facts: Readonly<Record<string, string | number | null>>): void {
		const said = Object.entries(facts).map(([key, value]) => [key, typeof value === "string" ? oneLine(value) : value]);
		this.#log.add({ do: what, ...Object.fromEntries(said) });
	}

	#said(
		{ command, argv, again, in: place, cwd, sandbox, typed, secret, signal, size }: Asked,
		target: Target | null,
	): object {
		return {
			...(command !== undefined && { command: oneLine(command, COMMAND_CHARS) }),
			...(argv !== undefined && { command: oneLine(JSON.stringify(argv), COMMAND_CHARS) }),
			...(again !== undefined && { again: oneLine(again) }),
			...(place !== undefined && { in: oneLine(place) }),
			...(cwd !== undefined && { cwd: oneLine(cwd, PATH_CHARS) }),
			...(sandbox !== undefined && { sandbox: oneLine(JSON.stringify(sandbox), COMMAND_CHARS) }),
			...(secret !== undefined && { secret: oneLine(secret) }),
			...(typed !== undefined && secret === undefined && this.#measured(typed, target)),
			...(signal !== undefined && { signal: oneLine(signal) }),
			...size,
		};
	}

	#measured(typed: NonNullable<Asked["typed"]>, target: Target | null): object {
		if (target?.isSecret) return { secret: true };
		const hmac = createHmac("sha256", this.#keyNow()).update(JSON.stringify(typed)).digest("hex");
		return { chars: typed.text.length, keys: typed.keys.length, hmac: hmac.slice(0, 32) };
	}

	/** Random and of this home alone: without it a short text could be guessed from its hash. */
	#keyNow(): Buffer {
		this.#key ??= keyIn(this.#log.directory);
		return this.#key;
	}
}

interface Context {
	readonly caller: Caller;
	readonly target: Target | null;
}

const by = ({ owner, token, from, parent }: Caller) => ({
	owner: oneLine(owner),
	...(token !== undefined && { token: oneLine(token) }),
	...(from !== undefined && { from: oneLine(from) }),
	...(parent !== undefined && { parent: oneLine(parent) }),
});

const on = (target: Target | null) =>
	target === null
		? {}
		: { session: target.id, name: oneLine(target.name), ...(target.owner !== null && { of: oneLine(target.owner) }) };

function verbOf(effect: Effect, { command, typed, size, signal }: Asked): string {
	if (effect === "starts") return "start";
	if (effect === "ends") return "close";
	if (command !== undefined) return "run";
	if (size !== undefined) return "resize";
	return typed === undefined && signal !== undefined ? "signal" : "send";
}

function keyIn(directory: string): Buffer {
	const path = join(directory, KEY_FILE);
	try {
		const key = Buffer.from(readRegular(path), "hex");
		if (key.length === KEY_BYTES) return key;
	} catch {
		// None yet.
	}
	const key = randomBytes(KEY_BYTES);
	try {
		makeAuditDirectory(directory);
		replaceFile(path, key.toString("hex"));
	} catch {
		// The disk is full: hashes of this daemon can be compared with each other only.
	}
	return key;
}
