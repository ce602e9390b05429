// Other hosts' sessions in the lists of the dialects, in their words. Like the native list, they are what the fleet has
// told, beside what the dialect itself says of this machine.

import type { ListedSession } from "../protocol/answer.ts";
import { cleanJson, oneLine } from "../protocol/clean.ts";
import { exitStatus } from "../pty/signals.ts";
import { hasEnded } from "../session/lifecycle.ts";
import type { Answer } from "../tools/client.ts";
import { cardsWithin } from "../tools/dialects/cards-within.ts";

/** What a dialect lists, of what there is: which ones, and where they go. */
interface DialectList {
	readonly isListed: (one: ListedSession, input: Readonly<Record<string, unknown>>) => boolean;
	readonly added: (facts: object, others: OtherSessions) => object;
}

/** The first of those that are listed, as many as fit and more, and how many there are. */
interface OtherSessions {
	readonly shown: readonly ListedSession[];
	readonly count: number;
}

const reasonOf = (one: ListedSession) =>
	one.unreachableSince !== undefined || hasEnded(one.status) ? { reason: one.because } : {};

const execCard = (one: ListedSession) => ({
	session_id: one.session,
	cmd: one.command,
	workdir: one.cwd,
	running: !hasEnded(one.status),
	exit_code: exitStatus(one.exit),
	pid: null,
	created_at: one.createdAt,
	last_output_at: one.updatedAt,
	...reasonOf(one),
});

const ptyCard = (one: ListedSession) => ({
	terminal_id: one.session,
	name: one.name,
	cmd: one.command,
	cwd: one.cwd,
	state: one.status,
	is_running: !hasEnded(one.status),
	pid: null,
	exit_code: exitStatus(one.exit),
	...reasonOf(one),
	created_at: one.createdAt,
	updated_at: one.updatedAt,
	resolved_at: hasEnded(one.status) ? one.updatedAt : null,
	bytes_out: one.offset,
	lines_out: one.lines,
	last_line: oneLine(""),
	truncated: false,
	parent_session_id: null,
	owner: one.owner,
});

/** Where there is no room for all, those of this machine, and it is said how many more there are. */
function within<C extends object>(here: readonly C[], others: readonly C[]): readonly C[] {
	return cardsWithin([...here, ...others]);
}

const LISTS: Readonly<Record<string, DialectList>> = {
	list_pty_sessions: {
		isListed: ({ mine }) => mine,
		added: (facts, others) => {
			const { sessions, left_out = 0 } = facts as { sessions: readonly object[]; left_out?: number };
			const shown = within(sessions, others.shown.map(execCard));
			const left = left_out + sessions.length + others.count - shown.length;
			return { ...facts, sessions: shown, ...(left > 0 && { left_out: left }) };
		},
	},
	pty_list: {
		isListed: ({ status }, { state }) => (state === undefined ? !hasEnded(status) : status === state),
		added: (facts, others) => {
			const last = (facts as readonly { readonly left_out?: number }[]).at(-1);
			const here = (facts as readonly object[]).map((card) => ({ ...card, left_out: undefined }));
			const shown = within<object>(here, others.shown.map(ptyCard));
			const left = (last?.left_out ?? 0) + here.length + others.count - shown.length;
			return shown.map((card, at) => ({
				...Object.fromEntries(Object.entries(card).filter(([, value]) => value !== undefined)),
				...(at === shown.length - 1 && left > 0 && { left_out: left }),
			}));
		},
	},
};

export const isDialectList = (tool: string): boolean => Object.hasOwn(LISTS, tool);

/** Which sessions of other hosts this call lists. */
export const listedBy =
	(tool: string, input: unknown) =>
	(one: ListedSession): boolean =>
		LISTS[tool]!.isListed(one, Object(input));

/** The answer of this machine with the other hosts' sessions after its own. */
export function withOthers(tool: string, here: Answer, others: OtherSessions): Answer {
	if (others.count === 0) return here;
	const facts = LISTS[tool]!.added(here.facts, others);
	return { ...here, facts, text: cleanJson(facts) };
}
