// The rows of another host's sessions as people here see them: with the names that they have here, as its host tells
// them, as its records have them, or as they were when it was last heard of.

import { oneLine } from "../protocol/clean.ts";
import type { PersonSession } from "../protocol/person-session.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { PEOPLE, personSession } from "../tools/people.ts";
import { hereMs } from "./clocks.ts";
import { listedOf, lostBecause } from "./fleet-list.ts";
import { joinReference } from "./session-names.ts";
import type { FleetSession } from "./view.ts";

/** What a record does not say: as wide as usual, and nobody has taken over as far as is known. */
const UNTOLD = { cols: 80, rows: 24, ports: [], driver: { kind: "agent" }, asked: null, reader: null } as const;

/** As its host tells it, whose clock may be another one. */
export const rowOn = (host: string, row: PersonSession, clock = 0): PersonSession => ({
	...row,
	createdAt: hereMs(row.createdAt, clock),
	updatedAt: hereMs(row.updatedAt, clock),
	needs: row.needs && { ...row.needs, since: hereMs(row.needs.since, clock) },
	driver: row.driver.kind === "agent" ? row.driver : { ...row.driver, since: hereMs(row.driver.since, clock) },
	session: oneLine(joinReference(host, row.session)),
	name: oneLine(joinReference(host, row.name)),
	host,
});

/** As it was, and nobody knows whether it still is. How it ended stays true. */
export function lostRow(row: PersonSession, since: number | null): PersonSession {
	if (hasEnded(row.status) || row.host === undefined) return row;
	return {
		...row,
		state: "unreachable",
		activity: "unresponsive",
		waitingFor: null,
		needs: null,
		because: lostBecause(row.host, since),
		unreachableSince: since,
	};
}

/** As its record has it, where its host cannot be asked. */
export function recordedRow(
	one: FleetSession,
	{ now, version }: { readonly now: number; readonly version: string },
): PersonSession {
	const told = { ...UNTOLD, quietSince: now, waitingSince: one.entry.updatedAt, now };
	const row = personSession(listedOf(one, { owner: PEOPLE, version }), told);
	return one.state === "told" ? row : lostRow(row, one.since);
}
