// One conversation with a real program, in the words of three agents: with our tools, with tmux, with pexpect.
//
// A conversation is a list of turns, the same for all three. In a turn the agent does one thing and reads the answer;
// `shows` is what it has to read before it goes on. Whoever needs more than one call for a turn makes more calls.

import type { Scene } from "./scene.ts";

export type Call = readonly [tool: string, input: Readonly<Record<string, unknown>>];

export interface Turn {
	/** What the answer has to show; null where it does not matter, as at the end of a program. */
	readonly shows: RegExp | null;
	/** What our header has to say beside it. */
	readonly header?: string;
	/** A call of our tools. */
	readonly ours: Call;
	/** A line of shell. */
	readonly tmux: string;
	/** Python, in an interpreter that stays. */
	readonly pexpect: string;
}

export interface Conversation {
	readonly name: string;
	/** What is to be done or found out. */
	readonly task: string;
	/** Programs and abilities, as in test/programs.ts. */
	readonly needs: readonly string[];
	/** Makes files, servers and processes; called for each of the three. */
	readonly turns: (scene: Scene) => readonly Turn[] | Promise<readonly Turn[]>;
	/** Whether the task is done, by what is on disk and by what the agent has read. */
	readonly achieved: (scene: Scene, read: string) => boolean;
	/** The finding that it shows to be closed. */
	readonly finding?: string;
	/** Whether `--quick` plays it. */
	readonly quick?: boolean;
}

/** Text in a shell's single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** What follows each line to tmux: a fixed sleep and a look, in the same call. */
const look = (seconds: number) => `; sleep ${seconds}; tmux capture-pane -p -t s`;

const NEW = "tmux new-session -d -s s -x 120 -y 40";
/** A session of tmux, of the size that ours have. */
export const tmuxStart = (command: string, seconds = 1): string => `${NEW} ${quoted(command)}${look(seconds)}`;
/** A session with a shell, for a program whose last words matter: the window goes with its program. */
export const tmuxShell = (command: string, seconds = 1): string =>
	`${NEW}; tmux send-keys -t s ${quoted(command)} Enter${look(seconds)}`;
/** Words as send-keys takes them: text in quotes, names of keys as they are. */
export const tmuxKeys = (words: string, seconds = 1): string => `tmux send-keys -t s ${words}${look(seconds)}`;
/** tmux takes a semicolon at the end of an argument for the end of its command. */
export const tmuxLine = (line: string, seconds = 1): string =>
	tmuxKeys(`${quoted(line.replace(/;$/, "\\;"))} Enter`, seconds);
/** Many lines as one paste. */
export const tmuxPaste = (text: string): string =>
	`tmux load-buffer - <<'END'\n${text}\nEND\ntmux paste-buffer -p -t s; tmux send-keys -t s Enter${look(1)}`;
/** One more look, because the sleep was too short. */
export const TMUX_AGAIN = "sleep 1; tmux capture-pane -p -t s";

/** Text as a literal of Python. */
export const literal = (text: string): string =>
	text.includes("'") || text.includes("\n") ? JSON.stringify(text) : `'${text}'`;

const EXPECT_END = "c.expect(pexpect.EOF); print(c.before)";
const expecting = (prompt: string | null) =>
	prompt === null ? EXPECT_END : `c.expect_exact(${literal(prompt)}); print(c.before)`;

/** A child of pexpect, up to its prompt, or with null to its end. */
export const pexpectStart = (command: string, prompt: string | null): string =>
	`import pexpect; c = pexpect.spawn(${literal(command)}, encoding='utf-8'); ${expecting(prompt)}`;
export const pexpectLine = (line: string, prompt: string | null): string =>
	`c.sendline(${literal(line)}); ${expecting(prompt)}`;
/** Where the next question is not known, or there is no prompt: what has come after a while. */
export const pexpectLook = (seconds = 1): string => `time.sleep(${seconds}); print(c.read_nonblocking(99999))`;
export const pexpectOpen = (command: string): string =>
	`import pexpect, time; c = pexpect.spawn(${literal(command)}, encoding='utf-8'); ${pexpectLook()}`;
/** Sends an expression of Python. */
export const pexpectSend = (text: string, seconds = 1): string => `c.send(${text}); ${pexpectLook(seconds)}`;

export const send = (session: string, text: string): Call => ["send", { session, text, submit: true }];
export const press = (session: string, ...keys: string[]): Call => ["send", { session, keys }];
export const start = (command: string, more: Readonly<Record<string, unknown>> = {}): Call => [
	"start",
	{ command, ...more },
];
