// Starts a program on a host that is chosen for it, once: placement.ts says which host fits, pins.ts where an earlier try
// went. Another host is tried only where it is certain that nothing was started: by the try that chose the host, as long as
// no other has followed it there.

import { randomUUID } from "node:crypto";
import { Fault, type FaultCode, isFault } from "../protocol/fault.ts";
import type { Answer } from "../tools/client.ts";
import { type Pin, type PinStore, pinKey } from "./pins.ts";
import { place, type Wanted } from "./placement.ts";
import { Reservations } from "./reservations.ts";
import type { HostView } from "./view.ts";

export interface PlacedStart {
	readonly wanted: Wanted;
	readonly owner: string;
	/** Its name, by which a repetition is known; null: it has none. */
	readonly name: { readonly kind: "session" | "shell"; readonly name: string } | null;
	/** The caller's own for this start, which is done once; null: it has none. */
	readonly id: string | null;
	/** Starts it there. */
	readonly start: (host: string) => Promise<Answer>;
}

export interface PlacerParts {
	readonly pins: PinStore;
	readonly hosts: () => readonly HostView[];
	/** Whether its host has told that a session has ended. */
	readonly hasEnded: (host: string, session: string) => Promise<boolean>;
	/** The host on which this owner has a running session of that name; null where there is none, or several. */
	readonly running: (owner: string, name: string) => Promise<string | null>;
}

/** The host has no room, or cannot be used from here: nothing was started, and another may take it. */
const NEXT: ReadonlySet<FaultCode> = new Set(["too_many_sessions", "out_of_resources", "unknown_host", "host_version"]);
/** What has the name runs there. */
const RUNS: ReadonlySet<FaultCode> = new Set(["name_taken", "still_running", "shell_busy", "not_a_shell"]);
/** It may have been started there, or is still being decided: the next try must find it. */
const KEPT: ReadonlySet<FaultCode> = new Set([
	...RUNS,
	...(["approval_pending", "internal", "unresponsive", "taken_over", "daemon_replaced"] as const),
	...(["disk_stalled", "session_unreachable", "screen_moved", "fleet_unreachable"] as const),
]);
/** In a pin, the session of a start that is known to have started nothing. */
const NOTHING = "";

/** Answered, or the pin that another has written meanwhile. */
type Tried = { readonly answer: Answer } | { readonly pin: Pin };

export class Placer {
	readonly #parts: PlacerParts;
	readonly #reservations = new Reservations();

	constructor(parts: PlacerParts) {
		this.#parts = parts;
	}

	async start(asked: PlacedStart): Promise<Answer> {
		// One host is no choice: a repetition finds what is there by itself.
		const isChoice = asked.wanted === "least-loaded" || !("host" in asked.wanted);
		if (!isChoice) return this.#place(asked, null);
		const { owner, name, id } = asked;
		const key = name === null ? null : pinKey(owner, name.kind, name.name);
		return id === null ? this.#place(asked, key) : this.#once(asked, { key, own: pinKey(owner, "id", id) });
	}

	/** The host that has got this very start has done it or will, also when what it started has ended. */
	async #once(
		asked: PlacedStart,
		{ key, own }: { readonly key: string | null; readonly own: string },
	): Promise<Answer> {
		for (let pin = await this.#parts.pins.find(own); ; ) {
			try {
				if (pin === null || pin.session === NOTHING) return await this.#place(this.#recorded(asked, own, pin), key);
				const tried = await this.#again(asked, own, pin);
				if ("answer" in tried) return tried.answer;
				pin = tried.pin;
			} catch (error) {
				if (!(error instanceof Elsewhere)) throw error;
				pin = error.pin;
			}
		}
	}

	/** The same start, which is recorded before it is sent, and taken back where nothing was started. */
	#recorded(asked: PlacedStart, own: string, before: Pin | null): PlacedStart {
		let last = before;
		const record = async (host: string, session: string | null) => {
			const { pin, isOurs } = await this.#parts.pins.set(own, { host, session }, last);
			if (!isOurs) throw new Elsewhere(pin);
			last = pin;
		};
		const start = async (host: string): Promise<Answer> => {
			await record(host, null);
			try {
				return await asked.start(host);
			} catch (error) {
				if (isNotStarted(error)) await record(host, NOTHING);
				throw error;
			}
		};
		return { ...asked, start };
	}

	async #there(asked: PlacedStart, host: string): Promise<Answer> {
		try {
			return await asked.start(host);
		} catch (error) {
			if (!isFault(error, "host_unreachable")) throw error;
			throw new Fault("host_unreachable", { ...error.facts, maybeDone: true }, { cause: error });
		}
	}

	async #place(asked: PlacedStart, key: string | null): Promise<Answer> {
		let pin = key === null ? null : await this.#parts.pins.find(key);
		for (;;) {
			const holds = key !== null && pin !== null && (await this.#holds(pin));
			const tried = holds ? await this.#again(asked, key, pin!) : await this.#choose(asked, key, pin);
			if ("answer" in tried) return tried.answer;
			pin = tried.pin;
		}
	}

	/** Whether a repetition belongs where the pin says. */
	async #holds({ host, session }: Pin): Promise<boolean> {
		if (session === NOTHING) return false;
		return session === null || !(await this.#parts.hasEnded(host, session));
	}

	/** Where it was placed before, and nowhere else. */
	async #again(asked: PlacedStart, key: string, before: Pin): Promise<Tried> {
		const { pins, hosts } = this.#parts;
		const { host } = before;
		// Nobody moves the pin while this is on its way: that takes the newest. One that cannot be sent does not renew it.
		const isThere = hosts().some((view) => view.host === host && view.reachable);
		const to = { host, session: null };
		const { pin, isOurs } = isThere ? await pins.set(key, to, before) : { pin: before, isOurs: true };
		if (!isOurs) return { pin };
		try {
			const answer = await this.#there(asked, host);
			await this.#note(key, pin, sessionIn(answer));
			return { answer };
		} catch (error) {
			if (isRefused(error) || (error instanceof Fault && RUNS.has(error.code)))
				await this.#note(key, pin, before.session);
			throw error;
		}
	}

	/** On the host that fits best. `before`: a pin that does not hold. */
	async #choose(asked: PlacedStart, key: string | null, before: Pin | null): Promise<Tried> {
		const { pins, running, hosts: known } = this.#parts;
		const runsOn = key === null ? null : await running(asked.owner, asked.name!.name);
		if (runsOn !== null) return { answer: await asked.start(runsOn) };
		const refused = new Map<string, string>();
		let pin = before;
		for (;;) {
			const hosts = known();
			const reserved = this.#reservations.count(hosts);
			let host: string;
			try {
				host = place(asked.wanted, { hosts, reserved, refused, key: key ?? randomUUID() });
			} catch (error) {
				if (refused.size > 0) await this.#note(key, pin, NOTHING);
				throw error;
			}
			using reservation = this.#reservations.make(host);
			try {
				if (key !== null) {
					const set = await pins.set(key, { host, session: null }, pin);
					pin = set.pin;
					if (!set.isOurs) return { pin };
				}
				const answer = await asked.start(host);
				reservation.answered(known().find((view) => view.host === host)?.lease ?? null);
				await this.#note(key, pin, sessionIn(answer));
				return { answer };
			} catch (error) {
				if (!isNotStarted(error)) {
					if (isRefused(error)) await this.#note(key, pin, NOTHING);
					throw error;
				}
				refused.set(host, error.message);
			}
		}
	}

	/** Unless another is on its way there. The call is answered all the same. */
	async #note(key: string | null, pin: Pin | null, session: string | null): Promise<void> {
		if (key === null || pin === null || session === null || pin.session === session) return;
		await this.#parts.pins.set(key, { host: pin.host, session }, pin).catch(() => {}); // it stays as it is: that host
	}
}

/** Nothing was started there, and it may be elsewhere. */
function isNotStarted(error: unknown): error is Fault {
	if (isFault(error, "host_unreachable")) return error.facts.maybeDone !== true;
	return error instanceof Fault && NEXT.has(error.code);
}

/** This try has started nothing. */
function isRefused(error: unknown): boolean {
	if (isNotStarted(error) || error instanceof Elsewhere) return true;
	return error instanceof Fault && error.code !== "host_unreachable" && !KEPT.has(error.code);
}

/** The same call is being made on another host, by another daemon or caller. */
class Elsewhere extends Error {
	readonly pin: Pin;

	constructor(pin: Pin) {
		super("this start is being made elsewhere");
		this.pin = pin;
	}
}

/** The id of what was started. */
function sessionIn({ facts }: Answer): string | null {
	const { session } = facts as { readonly session?: unknown };
	return typeof session === "string" ? session.slice(session.indexOf("/") + 1) : null;
}
