// The names under which other tools have the same fields. A model that knows them from
// there means ours: it is accepted where the meaning is certain. A time without a
// unit is not: it is asked back.

export interface OtherName {
	/** Our field, and what its value is multiplied by. */
	readonly field: string;
	readonly times?: number;
}

const SAME: Readonly<Record<string, readonly string[]>> = {
	session: ["session_id", "session_name", "terminal_id", "terminal", "pty_id", "process_id", "name", "id", "target"],
	session_id: ["session", "session_name", "terminal_id", "pty_id", "process_id", "id"],
	terminal_id: ["terminal", "session_id", "session", "pty_id", "process_id", "id", "name"],
	process_id: ["session_id", "session", "terminal_id", "id", "pid"],
	command: ["cmd", "command_line", "commandline", "script"],
	cmd: ["command", "command_line", "commandline", "script"],
	cwd: ["workdir", "working_directory", "working_dir", "directory", "dir"],
	workdir: ["cwd", "working_directory", "working_dir", "directory", "dir"],
	env: ["environment", "env_vars", "environment_variables"],
	text: ["chars", "input", "data", "stdin", "contains"],
	chars: ["text", "input", "data", "stdin", "keys"],
	keys: ["key"],
	submit: ["enter", "press_enter", "newline"],
	enter: ["submit", "press_enter", "newline"],
	pattern: ["regex", "regexp"],
	search: ["query", "grep", "find"],
	until: ["wait_for", "wait_until"],
	signal: ["sig", "signal_name"],
	status: ["state"],
	state: ["status"],
	cols: ["columns", "width"],
	rows: ["height"],
	maxTokens: ["max_output_tokens"],
	max_output_tokens: ["max_tokens"],
	stillMs: ["idle_ms", "quiet_ms", "silent_ms"],
	timeoutMs: ["yield_time_ms", "wait_ms"],
	yield_time_ms: ["timeout_ms", "wait_ms", "yield_ms"],
};

const SECONDS = ["timeout_seconds", "timeout_secs", "timeout_sec", "timeout_s", "yield_time_seconds", "wait_seconds"];
const MILLISECONDS = ["timeout_ms", "timeout_millis", "timeout_milliseconds", "wait_ms"];
const CONVERTED: Readonly<Record<string, readonly [names: readonly string[], times: number]>> = {
	timeoutMs: [SECONDS, 1000],
	yield_time_ms: [SECONDS, 1000],
	timeout_seconds: [MILLISECONDS, 0.001],
};

const UNITS: Readonly<Record<string, string>> = {
	timeoutMs: "milliseconds",
	yield_time_ms: "milliseconds",
	timeout_seconds: "seconds",
};
const WITHOUT_UNIT = new Set(["timeout", "wait", "waittime", "yieldtime", "maxwait", "delay"]);

/** `timeout_ms`, `timeoutMS` and `timeout-ms` are one name. */
const plain = (name: string) => name.toLowerCase().replace(/[_-]/g, "");

/** The field of these that a name certainly means. */
export function meantField(name: string, fields: readonly string[]): OtherName | null {
	const wanted = plain(name);
	const spelt = fields.find((field) => plain(field) === wanted);
	if (spelt !== undefined) return { field: spelt };
	const same = fields.find((field) => SAME[field]?.some((other) => plain(other) === wanted));
	if (same !== undefined) return { field: same };
	for (const field of fields) {
		const [names = [], times = 1] = CONVERTED[field] ?? [];
		if (names.some((other) => plain(other) === wanted)) return { field, times };
	}
	return null;
}

/** Other words for a choice that certainly mean it. */
const SAME_CHOICE: Readonly<Record<string, readonly string[]>> = {
	lines: ["tail", "history", "scrollback"],
	oldest: ["asc", "ascending", "first"],
	newest: ["desc", "descending", "last"],
	INT: ["ctrl+c", "ctrl-c", "^c", "interrupt"],
};

/** And those that may. */
const SIMILAR_CHOICE: Readonly<Record<string, readonly string[]>> = {
	stop: ["kill", "end", "terminate", "abort", "interrupt"],
	leave: ["continue", "keep", "detach", "background"],
};

const choiceIn = (table: Readonly<Record<string, readonly string[]>>) => (word: string, choices: readonly string[]) =>
	choices.find((choice) => table[choice]?.includes(word.trim().toLowerCase()));
export const meantChoice = choiceIn(SAME_CHOICE);
export const similarChoice = choiceIn(SIMILAR_CHOICE);

/** What models say about a command for the people who watch them: it has no effect anywhere. */
export const isRemark = (name: string, fields: readonly string[]): boolean =>
	plain(name) === "description" && (fields.includes("command") || fields.includes("cmd"));

const BACKGROUND = new Set(["background", "runinbackground", "isbackground", "detach", "async"]);

/** What `run` has, or another tool, for what is not a field of it. */
export function insteadOf(name: string, fields: readonly string[]): string | null {
	if (!fields.includes("onTimeout")) return null;
	if (BACKGROUND.has(plain(name))) return 'the tool `start`, whose programs stay, or `onTimeout`: "leave"';
	return SAME.session!.some((other) => plain(other) === plain(name)) || plain(name) === "session" ? "`shell`" : null;
}

/** The field that a name may mean, with the unit that the caller must decide on. */
export function timeField(name: string, fields: readonly string[]): { field: string; unit: string } | null {
	const field = WITHOUT_UNIT.has(plain(name)) ? fields.find((one) => UNITS[one] !== undefined) : undefined;
	return field === undefined ? null : { field, unit: UNITS[field]! };
}
