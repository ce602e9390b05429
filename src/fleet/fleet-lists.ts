// Lists of all hosts' sessions for callers: those of this host as it lists them itself, then those that the others have told
// of. What is not known, or not as it is now, is said in the answer.

import { setImmediate } from "node:timers/promises";
import { type ListedSession, type ListFacts, noticesIn } from "../protocol/answer.ts";
import { type CleanLine, joined, oneLine, safe, stacked } from "../protocol/clean.ts";
import { within } from "../pty/wait.ts";
import type { Answer, CallOptions, Client } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import { listedBy, withOthers } from "./dialect-lists.ts";
import { reachesOthers } from "./far-reach.ts";
import { type FleetListRequest, othersSessions, PAGE, renderFleetList, versionBecause } from "./fleet-list.ts";
import { isOfOtherVersion } from "./host-status.ts";
import type { FleetRegistry } from "./registry.ts";

/** How long a list of all waits for the records of the others. */
const RECORDS_MS = 3000;

/** Hosts in a notice; of more, their sessions say it. */
const NAMED = 5;

export interface FleetListsParts {
	readonly local: Client;
	readonly registry: Pick<
		FleetRegistry,
		"awaySince" | "unheardSince" | "doubtful" | "hosts" | "withSessions" | "sessions"
	>;
	/** Of this daemon. */
	readonly version: string;
	/** The name of this host; null where it is none. */
	readonly host: string | null;
	/** Whose the sessions of other hosts are, for this caller. */
	readonly ownerThere: (caller: Caller | undefined) => string;
}

export class FleetLists {
	readonly #parts: FleetListsParts;

	constructor(parts: FleetListsParts) {
		this.#parts = parts;
	}

	async list(input: unknown, options: CallOptions): Promise<Answer> {
		const { limit: asked, after, ...fields } = Object(input) as Record<string, unknown>;
		const { local, registry } = this.#parts;
		const limit = Math.min(PAGE.most, Math.max(1, Math.trunc(Number(asked ?? PAGE.usual)) || PAGE.usual));
		const here = await local.call("list", fields as object, options);
		const { caller } = options;
		if (!reachesOthers(caller)) return here;
		const unknown = await this.#untilSessionsKnown();
		const notices = [...(unknown.length > 0 ? unknown : this.#doubts(caller)), ...this.#otherVersions(caller)];
		const { since, status } = fields as { readonly since?: number | string; readonly status?: unknown };
		const facts = here.facts;
		const from = since === undefined ? 0 : typeof since === "number" ? since : Date.parse(since) || 0;
		const others = othersSessions(registry, {
			...this.#others(caller, { since: from, limit }),
			status: facts.status ?? (typeof status === "string" ? status : undefined),
			after: typeof after === "string" ? after : undefined,
		});
		const all: ListFacts = {
			...facts,
			sessions: [...(after === undefined ? facts.sessions : []), ...others.sessions],
			...(others.next !== null && { next: others.next }),
		};
		// Where there is nothing else, the answer is what it always was.
		if (others.sessions.length === 0 && after === undefined && notices.length === 0) return here;
		const told = [...noticesIn(facts), ...notices];
		return {
			facts: told.length === 0 ? all : { ...all, notices: told },
			text: stacked([renderFleetList(all), ...(told.length === 0 ? [] : [joined(told, " · ")])]),
		};
	}

	/** In the shape that a dialect has for it. */
	async inDialect(tool: string, input: unknown, options: CallOptions): Promise<Answer> {
		const { local, registry } = this.#parts;
		const { caller } = options;
		const here = await local.call(tool as never, input, options);
		if (here.refused !== undefined || !reachesOthers(caller)) return here;
		await this.#untilSessionsKnown();
		const isListed = listedBy(tool, input);
		const shown: ListedSession[] = [];
		let count = 0;
		let after: string | null | undefined;
		while (after !== null) {
			const request = { ...this.#others(caller, { since: 0, limit: PAGE.usual }), after };
			const page = othersSessions(registry, request);
			const listed = page.sessions.filter(isListed);
			shown.push(...listed.slice(0, PAGE.usual - shown.length));
			count += listed.length;
			after = page.next;
			await setImmediate(); // of a million, others wait for one page
		}
		return withOthers(tool, here, { shown, count });
	}

	#others(caller: Caller | undefined, wanted: Pick<FleetListRequest, "since" | "limit">): FleetListRequest {
		const { host } = this.#parts;
		return {
			...wanted,
			owner: this.#parts.ownerThere(caller),
			scope: caller?.scope,
			version: this.#parts.version,
			...(host !== null && { except: host }),
		};
	}

	/** The hosts whose sessions cannot be used from here now. Who is limited is told of no host. */
	#otherVersions(caller: Caller | undefined): readonly CleanLine[] {
		const { registry, version: ours } = this.#parts;
		if (caller?.scope !== undefined) return [];
		const others = registry.hosts().filter((view) => view.reachable && isOfOtherVersion(view, ours));
		return others
			.slice(0, NAMED)
			.map(({ host, lease }) => versionBecause(host, { ours, theirs: lease?.version ?? "" }));
	}

	/** Which hosts have not been heard of again since the broker was away. */
	#doubts(caller: Caller | undefined): readonly CleanLine[] {
		if (caller?.scope !== undefined) return [];
		const doubtful = this.#parts.registry.doubtful().filter(({ host }) => host !== this.#parts.host);
		if (doubtful.length === 0) return [];
		const since = new Date(Math.min(...doubtful.map((one) => one.since))).toISOString();
		const names = doubtful.slice(0, NAMED).map(({ host }) => host);
		const others = doubtful.length - names.length;
		return [
			safe`not heard of since ${oneLine(since)}, and listed as they were then: the sessions of ${oneLine(names.join(", "))}${others === 0 ? "" : safe` and ${others} other hosts`}`,
		];
	}

	/** What there is to say where they are not, or not as they are now. */
	async #untilSessionsKnown(): Promise<readonly CleanLine[]> {
		const { registry } = this.#parts;
		const { awaySince, unheardSince } = registry;
		const since = awaySince ?? unheardSince;
		if (since !== null)
			return [
				safe`the fleet's servers ${awaySince === null ? "say nothing" : "are not reached"} since ${oneLine(new Date(since).toISOString())}: other hosts are listed as they were then`,
			];
		const known = within(RECORDS_MS, "the sessions of other hosts", registry.withSessions());
		return known.then(
			() => [],
			() => [safe`the sessions of other hosts are still being read: list again for all`],
		);
	}
}
