// A session as a person sees it in a list: what the daemon says of it, and how
// the page sorts, groups and names it. Pure; drawing is in view/.

import type { PersonSession, PersonState as State } from "../../src/protocol/person-session.ts";
import { lostWords } from "./lost.ts";

export type { Need, PersonSession, PersonState as State } from "../../src/protocol/person-session.ts";
/** Who may type now. */
export type Driver = PersonSession["driver"];

/** The states that the page distinguishes by word, shape and colour. */
export type ShownState = Exclude<State, "starting" | "unresponsive"> | "failed";

/** The value of `data-state`: a program that does not answer is as good as stopped to who looks at it. */
export function stateAttribute(state: State): Exclude<State, "starting" | "unresponsive"> {
	if (state === "starting") return "working";
	return state === "unresponsive" ? "stopped" : state;
}

export function shownState(session: Pick<PersonSession, "state" | "exit">): ShownState {
	const state = stateAttribute(session.state);
	return state === "ended" && session.exit !== null && session.exit.code !== 0 ? "failed" : state;
}

type Worded = Pick<PersonSession, "state" | "exit" | "driver" | "mine" | "unreachableSince">;

/** The state in words, with an end's code or signal. `isDriven`: by this page. */
export function stateWords({ state, exit, driver, mine, unreachableSince }: Worded, isDriven = false): string {
	switch (state) {
		case "waiting":
			if (driver.kind === "person") return `waiting for ${isDriven ? "you" : driver.who}`;
			// What a person has started on the page has no agent.
			return `waiting for ${mine ? "a person" : "the agent"}`;
		case "secret":
			return "wants a secret";
		case "needs-you":
			return "needs you";
		case "unresponsive":
			return "not responding";
		case "unreachable":
			return lostWords({ since: unreachableSince ?? null }, Date.now());
		case "lost":
			return "lost";
		case "ended":
			if (exit?.signal) return `ended by ${exit.signal}`;
			return exit === null || exit.code === null ? "ended" : `ended with ${exit.code}`;
		default:
			return state;
	}
}

export const isOver = ({ state }: Pick<PersonSession, "state">): boolean => state === "ended" || state === "lost";

const SHELLS = /^(?:sudo|env|nohup|exec)$/;

/** Its name in two parts: the machine with a slash where it is another one, and what it is called there. */
export function nameParts({ name, host }: Pick<PersonSession, "name" | "host">): readonly [string, string] {
	const machine = host === undefined ? "" : `${host}/`;
	return name.startsWith(machine) ? [machine, name.slice(machine.length)] : ["", name];
}

/** The program's short name, from its command line. */
export function programOf(command: string): string {
	const words = command.trim().split(/\s+/);
	const word = words.find((one) => !SHELLS.test(one) && !one.includes("=")) ?? words[0] ?? "";
	return word.split("/").at(-1) ?? word;
}

export interface SessionGroup {
	/** Two groups may have one title. */
	readonly key: string;
	/** The conversation, or null for sessions that belong to none. */
	readonly parent: string | null;
	/** Its name in the list. */
	readonly title: string;
	readonly sessions: readonly PersonSession[];
}

/**
 * Open sessions by the conversation that opened them, or where a host names none by the agent that did; the one with
 * the newest session first.
 */
export function grouped(sessions: Iterable<PersonSession>): readonly SessionGroup[] {
	const groups = new Map<string, PersonSession[]>();
	for (const session of sessions) {
		const { parent, owner, host = "" } = session;
		// A conversation may have sessions on several machines; the same owner on two of them is not the same.
		const key = parent === null ? `owner ${owner} on ${host}` : `parent ${parent}`;
		const members = groups.get(key) ?? [];
		groups.set(key, members);
		members.push(session);
	}
	return [...groups]
		.map(([key, members]) => {
			const { parent, owner, host } = members[0]!;
			return { key, parent, title: parent ?? ownerWords(owner, host), sessions: members.toSorted(newestFirst) };
		})
		.toSorted((a, b) => newestFirst(a.sessions[0]!, b.sessions[0]!));
}

/** Who started a session, as far as a person knows them: the client's or token's name, not the parts that only tell two of one name apart. */
export function ownerWords(owner: string | null, host?: string): string {
	if (host !== undefined) return owner === "web" ? `Started here, on ${host}` : `${ownerWords(owner)} on ${host}`;
	if (owner === null) return "No conversation";
	const [kind, ...rest] = owner.split(":");
	if (kind === "cli" && rest.length === 0) return "Command line";
	if (kind === "web" && rest.length === 0) return "Started here";
	if (kind === "mcp" && rest.length > 1) return `${rest.slice(0, -1).join(":")} (${rest.at(-1)})`;
	if (kind === "http" && rest.length > 1) return rest.slice(1).join(" · ");
	return owner;
}

// By creation, not by last output: entries must not move under the pointer.
export function newestFirst(a: PersonSession, b: PersonSession): number {
	return b.createdAt - a.createdAt || a.session.localeCompare(b.session);
}

/** Sessions that want a person, in the order in which they should come. */
export function needing(sessions: Iterable<PersonSession>): readonly PersonSession[] {
	return [...sessions].filter((session) => session.needs !== null && !isOver(session)).toSorted(byUrgency);
}

/** What asks for a person, before what only nobody has answered, before what needs nobody, before what cannot be reached; among those that need one, the longest wait first. */
export function byUrgency(a: PersonSession, b: PersonSession): number {
	return urgency(b) - urgency(a) || (a.needs?.since ?? 0) - (b.needs?.since ?? 0) || newestFirst(a, b);
}

function urgency({ needs, state }: PersonSession): number {
	if (needs === null) return state === "unreachable" ? -1 : 0;
	return needs.kind === "unanswered" ? 1 : 2;
}

/** Whether all words of the filter occur in what the list shows of a session. */
export function matchesFilter(session: PersonSession, filter: string): boolean {
	if (filter.trim() === "") return true;
	const { name, command, cwd, lastLine, parent, owner, host } = session;
	const text = [
		name,
		command,
		cwd,
		lastLine,
		parent ?? ownerWords(owner, host),
		stateWords(session),
		...session.ports.map(String),
	]
		.join("\n")
		.toLowerCase();
	return filter
		.toLowerCase()
		.split(/\s+/)
		.every((word) => text.includes(word));
}

/** The session that a link means: by id, or the running or newest one of that name. */
export function sessionCalled(sessions: Iterable<PersonSession>, reference: string): PersonSession | undefined {
	const named: PersonSession[] = [];
	for (const session of sessions) {
		if (session.session === reference) return session;
		if (session.name === reference) named.push(session);
	}
	return named.toSorted((a, b) => Number(isOver(a)) - Number(isOver(b)) || newestFirst(a, b))[0];
}

/** How a link calls a session: by name where that finds it again, otherwise by id. */
export function referenceTo(sessions: Iterable<PersonSession>, session: PersonSession): string {
	return sessionCalled(sessions, session.name)?.session === session.session ? session.name : session.session;
}
