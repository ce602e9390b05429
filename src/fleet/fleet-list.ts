// The list of all hosts' sessions, from what the fleet has told: no host is asked.

import type { ListedSession, ListFacts } from "../protocol/answer.ts";
import { type Clean, type CleanLine, oneLine, safe, stacked } from "../protocol/clean.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { isWithin, type Scope } from "../session/scope.ts";
import { list, SHOWN_ENDED } from "../tools/list.ts";
import type { FleetRegistry } from "./registry.ts";
import { joinReference } from "./session-names.ts";
import type { FleetSession } from "./view.ts";

/** In one answer: a message on a socket has at most 1,000,000 values (limits.answerValues), and a session 50. */
export const PAGE = { usual: 1000, most: 5000 } as const;
/** Of other hosts, in the text that a model reads. */
const SHOWN_LINES = 50;

export interface FleetListRequest {
	readonly status?: string | undefined;
	/** Ms since 1970. */
	readonly since: number;
	readonly limit: number;
	readonly after?: string | undefined;
	/** Whose sessions are the caller's own. */
	readonly owner: string;
	readonly scope: Scope | undefined;
	/** Of this daemon. */
	readonly version: string;
	/** This host, whose own list has its sessions. */
	readonly except?: string;
}

/** What other hosts have, in a fixed order, as many as fit. */
export function othersSessions(
	registry: Pick<FleetRegistry, "sessions">,
	request: FleetListRequest,
): { readonly sessions: readonly ListedSession[]; readonly next: string | null } {
	const { limit, owner, version, after, except } = request;
	const sessions: { readonly one: FleetSession; readonly listed: ListedSession }[] = [];
	let last: string | null = null;
	for (const one of registry.sessions({ ...(except !== undefined && { except }), after })) {
		if (!isWanted(one, request)) continue;
		if (sessions.length === limit) return { sessions: named(sessions), next: last };
		sessions.push({ one, listed: listedOf(one, { owner, version }) });
		last = one.key;
	}
	return { sessions: named(sessions), next: null };
}

function isWanted({ host, id, entry }: FleetSession, { status, since, scope }: FleetListRequest): boolean {
	const { owner } = entry;
	if (!isWithin(scope ?? null, { id: joinReference(host, id), owner, parent: null, host })) return false;
	if (entry.updatedAt < since) return false;
	if (status === undefined) return true;
	return status === "ended" ? hasEnded(entry.status) : entry.status === status;
}

/** As its record has it; `owner`: whose sessions are the caller's own; `version`: of this daemon. */
export function listedOf(
	{ host, id, entry, state, since, version: theirs }: FleetSession,
	{ owner, version }: { readonly owner: string; readonly version: string },
): ListedSession {
	const isLost = state === "unreachable";
	const isEnded = hasEnded(entry.status);
	const isOther = !isEnded && theirs !== null && theirs !== version;
	return {
		session: joinReference(host, id),
		name: oneLine(joinReference(host, entry.name)),
		command: oneLine(entry.command, 1000),
		cwd: oneLine(""),
		status: entry.status,
		activity: isLost ? "unresponsive" : isEnded ? null : entry.activity,
		waitingFor: isLost ? null : entry.waitingFor,
		because: isLost
			? lostBecause(host, since)
			: isOther
				? versionBecause(host, { ours: version, theirs })
				: endOf(entry.exit),
		exit: entry.exit,
		pid: null,
		createdAt: entry.createdAt,
		updatedAt: entry.updatedAt,
		offset: 0,
		lines: null,
		lastLine: oneLine(""),
		truncated: false,
		owner: entry.owner,
		mine: entry.owner === owner,
		byName: entry.owner === owner,
		parent: null,
		keep: false,
		inherit: null,
		sandbox: entry.sandbox,
		host,
		...(isLost && { unreachableSince: since }),
	};
}

export const lostBecause = (host: string, since: number | null): CleanLine =>
	safe`host ${oneLine(host)} is unreachable${since === null ? "" : safe` since ${oneLine(new Date(since).toISOString())}`}; it may still be running`;

/** Both run; what one of them has cannot be used from the other. */
export const versionBecause = (
	host: string,
	{ ours, theirs }: { readonly ours: string; readonly theirs: string },
): CleanLine =>
	safe`host ${oneLine(host)} runs Dialtone ${oneLine(theirs)}, and this machine ${oneLine(ours)}: its sessions run, and can be used from here once both are the same`;

const endOf = (exit: ListedSession["exit"]): CleanLine =>
	exit === null ? safe`told by its host` : oneLine(exit.signal ?? `exit code ${exit.code}`);

/** Of several with the same name, that means the one that runs, or the newest. */
function named(sessions: readonly { readonly listed: ListedSession }[]): readonly ListedSession[] {
	const meant = new Map<string, ListedSession>();
	const isBetter = (a: ListedSession, b: ListedSession) =>
		hasEnded(a.status) === hasEnded(b.status) ? a.createdAt > b.createdAt : !hasEnded(a.status);
	for (const { listed } of sessions) {
		const other = meant.get(listed.name);
		if (listed.mine && (other === undefined || isBetter(listed, other))) meant.set(listed.name, listed);
	}
	return sessions.map(({ listed }) =>
		listed.mine && meant.get(listed.name) !== listed ? { ...listed, byName: false } : listed,
	);
}

/** What a model reads: the sessions of this host as always, of others the caller's own first, and how many more there are. */
export function renderFleetList(facts: ListFacts): Clean {
	const { sessions, status } = facts;
	const local = sessions.filter(({ host }) => host === undefined);
	const others = sessions.filter(({ host }) => host !== undefined);
	const isOpen = (one: ListedSession) => status !== null || !hasEnded(one.status);
	const open = others.filter(isOpen);
	const lastEnded = others.filter((one) => one.mine && !isOpen(one)).slice(0, SHOWN_ENDED);
	const ranked = [...open.filter(({ mine }) => mine), ...lastEnded, ...open.filter(({ mine }) => !mine)];
	const shown = ranked.slice(0, SHOWN_LINES);
	const left = open.filter((one) => !shown.includes(one));
	const text = list.render({ ...facts, sessions: [...local, ...shown] });
	if (left.length === 0 && facts.next === undefined) return text;
	const hosts = [...new Set(left.map(({ host }) => host!))];
	const on =
		hosts.length === 0 ? "" : safe` on ${oneLine(hosts.slice(0, 5).join(", "))}${hosts.length > 5 ? ", …" : ""}`;
	const many = safe`${left.length}${facts.next === undefined ? "" : " or more"}`;
	return stacked([text, safe`and ${many} others${on}: \`host\` lists one host's`]);
}
