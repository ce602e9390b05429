// Starts a program on a host that is chosen for it, once: placement.ts says which host fits, pins.ts where an earlier try
// went. Another host is tried only where it is certain that nothing was started.

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
	/** Its name, by which a repetition is known; null: it has none, and is never repeated here. */
	readonly name: { readonly kind: "session" | "shell"; readonly name: string } | null;
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
/** It may have been started there, or is still being decided: the next try must find it. */
const KEPT: ReadonlySet<FaultCode> = new Set([
	...(["name_taken", "still_running", "shell_busy", "not_a_shell", "approval_pending", "internal"] as const),
	...(["unresponsive", "taken_over", "daemon_replaced", "disk_stalled", "session_unreachable"] as const),
	...(["screen_moved", "fleet_unreachable"] as const),
]);
/** In a pin, the session of a start that is known to have started nothing. */
const NOTHING = "";

export class Placer {
	readonly #parts: PlacerParts;
	readonly #reservations = new Reservations();

	constructor(parts: PlacerParts) {
		this.#parts = parts;
	}

	async start(asked: PlacedStart): Promise<Answer> {
		const { pins } = this.#parts;
		// One host is no choice: a repetition finds what is there by itself.
		const isChoice = asked.wanted === "least-loaded" || !("host" in asked.wanted);
		const key = asked.name === null || !isChoice ? null : pinKey(asked.owner, asked.name.kind, asked.name.name);
		let pin = key === null ? null : await pins.find(key);
		if (pin !== null && (await this.#holds(pin))) return this.#again(asked, key, pin);
		if (key !== null && pin === null) {
			const host = await this.#parts.running(asked.owner, asked.name!.name);
			if (host !== null) return this.#startOn(host, asked, null, null);
		}
		const refused = new Map<string, string>();
		for (;;) {
			const hosts = this.#parts.hosts();
			const reserved = this.#reservations.count(hosts);
			const host = place(asked.wanted, { hosts, reserved, refused, key: key ?? randomUUID() });
			if (key !== null) {
				const set = await pins.set(key, { host, session: null }, pin);
				// Another has placed it meanwhile.
				if (set.host !== host || set.session !== null) return this.#again(asked, key, set);
				pin = set;
			}
			try {
				return await this.#startOn(host, asked, key, pin);
			} catch (error) {
				if (!isNotStarted(error)) throw error;
				refused.set(host, error.message);
			}
		}
	}

	/** Whether a repetition belongs where the pin says. */
	async #holds({ host, session }: Pin): Promise<boolean> {
		if (session === NOTHING) return false;
		return session === null || !(await this.#parts.hasEnded(host, session));
	}

	/** Where it was placed before, and nowhere else. */
	async #again(asked: PlacedStart, key: string | null, pin: Pin): Promise<Answer> {
		try {
			return await this.#startOn(pin.host, asked, key, pin);
		} catch (error) {
			if (!isFault(error, "host_unreachable")) throw error;
			throw new Fault("host_unreachable", { ...error.facts, maybeDone: true }, { cause: error });
		}
	}

	async #startOn(host: string, asked: PlacedStart, key: string | null, pin: Pin | null): Promise<Answer> {
		const leaseOf = () => this.#parts.hosts().find((view) => view.host === host)?.lease ?? null;
		const reservation = this.#reservations.make(host);
		try {
			const answer = await asked.start(host);
			reservation.answered(leaseOf());
			await this.#note(key, pin, host, sessionIn(answer));
			return answer;
		} catch (error) {
			reservation.release();
			// What is about to be tried elsewhere moves the pin itself.
			if (error instanceof Fault && !isUncertain(error) && !isNotStarted(error))
				await this.#note(key, pin, host, NOTHING);
			throw error;
		}
	}

	/** Without it the next try would only look at one host too many: the call is answered all the same. */
	async #note(key: string | null, pin: Pin | null, host: string, session: string | null): Promise<void> {
		if (key === null || session === null || pin?.session === session) return;
		await this.#parts.pins.set(key, { host, session }, pin).catch(() => {}); // the pin stays as it was: that host
	}
}

/** Nothing was started there, and it may be elsewhere. */
function isNotStarted(error: unknown): error is Fault {
	if (isFault(error, "host_unreachable")) return error.facts.maybeDone !== true;
	return error instanceof Fault && NEXT.has(error.code);
}

const isUncertain = (fault: Fault): boolean =>
	isFault(fault, "host_unreachable") ? fault.facts.maybeDone === true : KEPT.has(fault.code);

/** The id of what was started. */
function sessionIn({ facts }: Answer): string | null {
	const { session } = facts as { readonly session?: unknown };
	return typeof session === "string" ? session.slice(session.indexOf("/") + 1) : null;
}
