// Whether what one list says of one session is true, by what is known of that (checker.ts) and of the harms.

import type { ListedSession } from "../../src/protocol/answer.ts";
import { hasEnded } from "../../src/session/lifecycle.ts";
import type { Checker } from "./checker.ts";
import type { Harms } from "./harms.ts";
import { noticedOf } from "./notices.ts";
import { CUTS_OFF } from "./refusals.ts";

/** What is lost is told by the end of a lease (10 s); later where the server of who tells it is lost, too, on a busy machine. */
export const TOLD_MS = 25_000;
/** A lease is refreshed every 3 s: its host was last heard of so long before the harm, or a slow machine's some longer. */
const HEARD_MS = 12_000;

/** How a session has ended, as its owner lists it. */
export interface Ended {
	readonly status: string;
	/** Null: by a signal. */
	readonly code: number | null;
}

export interface Known {
	readonly host: string;
	readonly name: string;
	/** Since when it is there, when its end was asked for and when that was answered: ms since 1970. */
	readonly since: number;
	/** Every machine has listed it. */
	readonly isTold: boolean;
	/** All that its program ever does; null: anything. */
	readonly does: readonly string[] | null;
	closedAt: number;
	endedAt: number;
	end: Ended | null;
}

interface Listing {
	readonly by: string;
	readonly from: number;
	readonly at: number;
	readonly harms: Harms;
	readonly checker: Pick<Checker, "rows" | "excused" | "isOwnHarmed" | "toldMs">;
}

export class RowCheck {
	readonly #list: Listing;

	constructor(list: Listing) {
		this.#list = list;
	}

	/** Null: it is true. `found`: the rows of that name. */
	untrue(known: Known, found: readonly ListedSession[], notices: readonly string[]): string | null {
		const { by, from, at, harms, checker } = this.#list;
		const { host } = known;
		const noticed = by === host ? NOTHING : noticedOf(host, notices);
		checker.rows.all++;
		if (harms.near([from, at], [by, host]).length === 0) checker.rows.calm++;
		const wasCutOff = this.#wasCutOff(host);
		for (const notice of noticed.notices) {
			if (!wasCutOff) return `"${notice}", and nothing was harmed`;
			const early = noticed.asOf === null ? null : this.#tooEarly(host, noticed.asOf);
			if (early !== null) return `"${notice}", ${early}`;
			checker.excused("list: a notice", from, [by, host]);
		}
		// What is told as it was is to be true of then.
		const asOf = Math.min(from, noticed.asOf ?? from);
		const moment = { asOf, wasCutOff, mayLack: noticed.mayLack };
		return at >= known.closedAt ? this.#ended(known, found, moment) : this.#running(known, found, moment);
	}

	/** Its end was asked for. */
	#ended({ host, endedAt, end }: Known, found: readonly ListedSession[], moment: Moment): string | null {
		const ended = found.find((one) => hasEnded(one.status));
		if (ended !== undefined) {
			const code = ended.exit?.code ?? null;
			const isRight = ended.status === end!.status && code === end!.code;
			return isRight ? null : `as ${ended.status} with ${code}, and it has ended as ${end!.status} with ${end!.code}`;
		}
		if (moment.asOf <= endedAt + TOLD_MS) return null;
		const { by, from } = this.#list;
		if (found.some((one) => one.unreachableSince !== undefined)) return this.#unreachable(host, found[0]!);
		if (moment.wasCutOff || moment.mayLack) {
			this.#list.checker.excused("list: no end", from, [by, host]);
			return null;
		}
		return found.length > 0 ? "as running, and it has ended" : "not at all, and it has ended";
	}

	#running(known: Known, found: readonly ListedSession[], moment: Moment): string | null {
		const { by, from, harms, checker } = this.#list;
		const { host, isTold, since } = known;
		const ended = found.find((one) => hasEnded(one.status));
		if (ended !== undefined) return `as ${ended.status}, and it runs`;
		const [one] = found;
		const pair = [by, host];
		if (one === undefined) {
			if (by === host) return "not at all, and it is its own";
			const isNew = !isTold && (moment.wasCutOff || moment.asOf < since + TOLD_MS);
			if (!isNew && !moment.mayLack) return "not at all, without a word";
			if (moment.mayLack) checker.excused("list: a missing row", from, pair);
			return null;
		}
		if (one.unreachableSince !== undefined)
			return by === host ? "as unreachable, and it is its own" : this.#unreachable(host, one);
		// One whose own daemon was stopped answers when it goes on, and what it says is so then.
		const cutOff = by === host || checker.isOwnHarmed(by, from) ? null : harms.cutOff(from, pair);
		if (cutOff !== null) {
			checker.toldMs = Math.max(checker.toldMs, moment.asOf - cutOff);
			if (moment.asOf - cutOff > TOLD_MS) return `as reachable ${moment.asOf - cutOff} ms after it was cut off`;
		}
		return this.#doing(known, one);
	}

	/** What it does now, as its owner told it. */
	#doing({ host, does }: Known, one: ListedSession): string | null {
		const { from, checker } = this.#list;
		const told = doingOf(one);
		if (does === null || does.includes(told)) return null;
		// A daemon that has just begun looks first.
		if (!checker.isOwnHarmed(host, from)) return `as ${told}, and it is ${does.join(" or ")}`;
		checker.excused(`list: ${told}`, from, [host]);
		return null;
	}

	#unreachable(host: string, { unreachableSince, activity, waitingFor }: ListedSession): string | null {
		const { by, from, at, harms, checker } = this.#list;
		const pair = [by, host];
		const cutOff = harms.cutOff(from, pair);
		if (cutOff !== null && from - cutOff > TOLD_MS) checker.rows.lost++;
		if (activity !== "unresponsive" || waitingFor !== null) return `as unreachable and ${activity}`;
		if (!this.#wasCutOff(host)) return "as unreachable, and nothing was harmed";
		checker.excused("list: unreachable", from, pair);
		if (unreachableSince == null) return null; // a daemon that has begun since
		if (unreachableSince > at) return "as unreachable since a time to come";
		const early = this.#tooEarly(host, unreachableSince);
		return early === null ? null : `as unreachable ${early}`;
	}

	/** Nothing is not heard of for longer than it is harmed. */
	#tooEarly(host: string, unheardSince: number): string | null {
		const { by, from, at, harms } = this.#list;
		const since = harms.since(at, [by, host], CUTS_OFF) ?? from;
		const isEarly = unheardSince < since - HEARD_MS && !this.#isStartedSince(by, unheardSince);
		return isEarly ? `for ${since - unheardSince} ms before it was` : null;
	}

	/** By something that may still be felt. */
	#wasCutOff(host: string): boolean {
		const { by, from, at, harms } = this.#list;
		return harms.near([from, at], [by, host]).some(({ kind }) => CUTS_OFF.includes(kind));
	}

	/** One that was started since then has the times of the records, where it has not heard of a host itself. */
	#isStartedSince(name: string, since: number): boolean {
		return this.#list.harms.all.some(({ kind, on, to }) => kind === "kill daemon" && on.includes(name) && to >= since);
	}
}

export const doingOf = ({ activity, waitingFor }: ListedSession): string =>
	waitingFor === null ? String(activity) : `${activity} for ${waitingFor}`;

interface Moment {
	/** When what is told was so. */
	readonly asOf: number;
	readonly wasCutOff: boolean;
	readonly mayLack: boolean;
}

const NOTHING = { asOf: null, mayLack: false, notices: [] } as const;
