// What a caller has at hand, in the words of its tool set: a refusal names an
// action ("read it"), and the row of the set says which of its tools does that.

import { type CleanLine, joined, oneLine, safe } from "./clean.ts";
import { nameOnHost } from "./short-name.ts";

export interface Vocabulary {
	/** What the set calls a session, and by what its callers know one. */
	readonly noun: "session" | "terminal" | "process";
	readonly knownBy: "name" | "id";
	/** The names that its callers can write, where these are not any. */
	readonly names?: RegExp;
	readonly start: CleanLine;
	/** Shows output, also of what has ended. */
	readonly read: CleanLine;
	/** Shows all that is kept, where `read` shows only what is new. */
	readonly recall?: (session: CleanLine) => CleanLine;
	readonly wait: CleanLine;
	readonly type: CleanLine;
	readonly interrupt: CleanLine;
	readonly end: CleanLine;
	readonly kill: CleanLine;
	/** The field for the directory of a new program. */
	readonly directory: CleanLine;
	/** A shell that has no name for its callers: what runs a command in it, and what shows it. */
	readonly shell?: { readonly run: string; readonly read: CleanLine };
	/** What only the native tools and the command line have. */
	readonly more?: {
		readonly list: CleanLine;
		readonly reuse: CleanLine;
		readonly replace: CleanLine;
		readonly less: CleanLine;
		/** Where a text that is typed is given, and what types what may be dangerous. */
		readonly text: CleanLine;
		readonly force: CleanLine;
		/** Ends a session and deletes its record. */
		readonly forget: CleanLine;
		/** Types a line into this session; runs a command in another shell. */
		readonly typeInto: (session: CleanLine) => CleanLine;
		readonly otherShell: CleanLine;
	};
}

const writeStdin = {
	read: safe`\`write_stdin\` with empty \`chars\``,
	recall: () => safe`\`write_stdin\` with \`from\`: 1`,
	wait: safe`\`write_stdin\` with empty \`chars\``,
	type: safe`\`write_stdin\``,
	interrupt: safe`\`write_stdin\` with "\\u0003"`,
	directory: safe`a \`workdir\``,
} as const;

export const vocabularies = {
	native: {
		noun: "session",
		knownBy: "name",
		start: safe`\`start\``,
		read: safe`\`read\``,
		recall: () => safe`\`read\` with \`view: "lines"\``,
		wait: safe`\`wait\``,
		type: safe`\`send\``,
		interrupt: safe`\`signal\` INT`,
		end: safe`\`close\``,
		kill: safe`\`close\` with \`force\``,
		directory: safe`a \`cwd\``,
		more: {
			list: safe`\`list\``,
			reuse: safe`\`ifExists: "use"\``,
			replace: safe`\`ifExists: "replace"\``,
			less: safe`\`read\` has \`from\` and \`to\`, most calls have \`maxTokens\``,
			text: safe`\`text\``,
			force: safe`\`force\``,
			forget: safe`\`close\` with \`forget\``,
			typeInto: (session) => safe`\`send\` ({"session": "${session}", "text": …, "submit": true})`,
			otherShell: safe`\`run\` with another \`shell\` name`,
		},
	},
	commandLine: {
		noun: "session",
		knownBy: "name",
		start: safe`\`dialtone start\``,
		read: safe`\`dialtone read\``,
		recall: (session) => safe`\`dialtone read ${session} --view lines\``,
		wait: safe`\`dialtone wait\``,
		type: safe`\`dialtone send\``,
		interrupt: safe`\`dialtone signal\``,
		end: safe`\`dialtone stop\``,
		kill: safe`\`dialtone stop --force\``,
		directory: safe`a \`--cwd\``,
		more: {
			list: safe`\`dialtone ls\``,
			reuse: safe`\`--if-exists use\``,
			replace: safe`\`--if-exists replace\``,
			less: safe`\`dialtone read\` has \`--from\` and \`--to\`, most commands have \`--max-tokens\``,
			text: safe`plain TEXT`,
			force: safe`\`--force\``,
			forget: safe`\`dialtone rm --force\``,
			typeInto: (session) => safe`\`dialtone send ${session} …\``,
			otherShell: safe`\`dialtone run --shell NAME\``,
		},
	},
	exec: {
		...writeStdin,
		noun: "session",
		knownBy: "id",
		start: safe`\`unified_exec\``,
		end: safe`\`close_pty_session\``,
		kill: safe`\`close_pty_session\` with \`force\``,
	},
	// Its sessions are numbers, which are their names here. It has no tool that ends one: Ctrl+C does.
	codex: {
		...writeStdin,
		noun: "session",
		knownBy: "name",
		names: /^\d+$/,
		start: safe`\`exec_command\``,
		end: writeStdin.interrupt,
		kill: writeStdin.interrupt,
	},
	pty: {
		noun: "terminal",
		knownBy: "id",
		start: safe`\`pty_create\``,
		read: safe`\`pty_capture\``,
		wait: safe`\`pty_capture\``,
		type: safe`\`pty_send_keys\``,
		interrupt: safe`\`pty_kill\` with INT`,
		end: safe`\`pty_kill\``,
		kill: safe`\`pty_kill\` with KILL`,
		directory: safe`a \`cwd\``,
	},
	terminal: {
		noun: "process",
		knownBy: "name",
		names: /^bg_\d+$/,
		start: safe`\`start_background_process\``,
		read: safe`\`get_process_output\``,
		wait: safe`\`get_process_output\``,
		type: safe`\`run_bash\``,
		interrupt: safe`\`stop_background_process\``,
		end: safe`\`stop_background_process\``,
		kill: safe`\`stop_background_process\``,
		directory: safe`a directory`,
		shell: { run: "run_bash", read: safe`\`get_process_output\` with process_id "bash"` },
	},
} as const satisfies Record<string, Vocabulary>;

export type VocabularyName = keyof typeof vocabularies;

/** A session as the callers of this set call it. */
export const called = ({ knownBy }: Vocabulary, name: string, id: string | undefined): CleanLine =>
	oneLine(knownBy === "id" ? (id ?? name) : name);

const MAX_NAMES = 20;

/** Of the caller's open sessions, those that this set can name. */
export const reachable = ({ names: written }: Vocabulary, names: readonly string[]): readonly string[] =>
	written === undefined ? names : names.filter((name) => written.test(nameOnHost(name)));

/** Those that are open. An id says nothing by itself, so the name comes with it. */
export function openOnes(words: Vocabulary, names: readonly string[], ids: readonly string[] = []): CleanLine {
	const known = reachable(words, names);
	if (known.length === 0)
		return words.more === undefined
			? safe`No ${words.noun} is open: call ${words.start}.`
			: safe`You have no ${words.noun} open: call ${words.start}. ${words.more.list} shows those of others.`;
	const shown = known.slice(0, MAX_NAMES).map((name) => {
		const id = words.knownBy === "id" ? ids[names.indexOf(name)] : undefined;
		return id === undefined ? oneLine(name) : safe`${oneLine(id)} (${oneLine(name)})`;
	});
	const more = known.length > MAX_NAMES ? safe` and ${known.length - MAX_NAMES} more` : "";
	return safe`Open ${PLURALS[words.noun]}: ${joined(shown, ", ")}${more}.`;
}

const PLURALS = { session: "sessions", terminal: "terminals", process: "processes" } as const;
