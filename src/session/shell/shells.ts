// How each shell is started, and how a command is delivered to it.
//
// One row per shell. The scripts are real files in shell/ at the top of the
// package; their contract is in docs/shell.md. Typing and waiting is in run.ts.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { inShellQuotes as quoted } from "../../protocol/command-words.ts";
import { isClosed } from "./closed.ts";

export const SHELL_KINDS = ["bash", "zsh", "fish", "sh"] as const;
export type ShellKind = (typeof SHELL_KINDS)[number];

/** The file from which a shell reads the nonces of its marks, and which it empties at once. */
export const NONCES = "nonce";

export interface ShellLaunch {
	/** bash, /bin/zsh, … */
	readonly program: string;
	/** This session's private directory, 0700. */
	readonly dir: string;
	/** No start file of the user is read. */
	readonly clean: boolean;
	readonly login: boolean;
	/** The environment it will get, for what must be restored (ZDOTDIR, ENV). */
	readonly env: Readonly<Record<string, string>>;
}

export interface ShellStart {
	readonly argv: readonly string[];
	/** On top of the environment it gets. */
	readonly env: Readonly<Record<string, string>>;
	/** To be written into `dir` first, 0600. */
	readonly files: Readonly<Record<string, string>>;
}

export interface CommandScript {
	/** Names the run in its marks and files. */
	readonly run: string;
	readonly command: string;
	/** Change to this directory first; it exists. */
	readonly cwd: string | null;
	/** Written to the terminal first, so that a person sees the command and not how it is delivered. */
	readonly paint: string;
	/** Keeps 1 and 2 apart, in the pipes of `RUN.d`, which are ready or have yet to be made; null: both are the terminal. */
	readonly streams: "ready" | "start" | null;
}

export interface Delivery {
	/** The text of the file `RUN`, to be written into `dir`, 0600, before the keys are typed. */
	readonly file: string;
	readonly keys: string;
}

interface Shell {
	start(launch: ShellLaunch): ShellStart;
	deliver(script: CommandScript): Delivery;
}

/** The row for a program; an unknown program is treated as a plain shell. */
export function shellKind(program: string): ShellKind {
	const name = basename(program).replace(/^-/, "");
	return name === "bash" || name === "zsh" || name === "fish" ? name : "sh";
}

const SCRIPTS = join(import.meta.dirname, "../../../shell");

function script(name: string, words: Readonly<Record<string, string>> = {}): string {
	const text = readFileSync(join(SCRIPTS, name), "utf8");
	return text.replaceAll(/@([A-Z]+)@/g, (whole, word: string) => words[word] ?? whole);
}

const fishQuoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

// A pager would wait for a key that no agent knows to press. Set after the user's own files, which often set one.
const PAGERS = [
	"PAGER",
	"GIT_PAGER",
	"MANPAGER",
	"SYSTEMD_PAGER",
	"GH_PAGER",
	"PSQL_PAGER",
	"BAT_PAGER",
	"DELTA_PAGER",
];
const NO_PAGERS = `export ${PAGERS.map((name) => `${name}=cat`).join(" ")} AWS_PAGER= LESS=-FRX`;
const NO_PAGERS_FISH = [
	...PAGERS.map((name) => `set -gx ${name} cat`),
	"set -gx AWS_PAGER ''",
	"set -gx LESS -FRX",
].join("\n");

// Ctrl+U first: a person may have left something on the line. The space keeps it out of most histories.
const typed = (line: string) => `\x15 ${line}\r`;
// Passes the status of the previous command to the first line, and neither `set -e` nor a trap on errors
// takes that for a failure. A loop over nothing, because it alone is neither traced nor trapped.
const STATUS_KEPT = " && for _dt_i in; do :; done";
const HIDDEN = ">/dev/null 2>&1";
// The second argument of `_dt`.
const START = { ready: "", start: " start" } as const;

interface Frame {
	readonly begin: string;
	readonly end: string;
}

function framed({ command, cwd, paint }: CommandScript, { begin, end }: Frame, quote = quoted): string {
	const before = [
		paint === "" ? "" : `printf %s ${quote(paint)} >/dev/tty\n`,
		cwd === null ? "" : `cd -- ${quote(cwd)} >/dev/null\n`,
	];
	// The empty line is for a command that ends in a backslash; a here-document that is open would have it in its text.
	return `${before.join("")}${begin}\n${command}\n${isClosed(command) ? `\n${end}\n` : ""}`;
}

const BASH_LOGIN = `[[ ! -r /etc/profile ]] || . /etc/profile
	for _dt_i in ~/.bash_profile ~/.bash_login ~/.profile; do
		[[ ! -r $_dt_i ]] || { . "$_dt_i"; break; }
	done`;

const bash: Shell = {
	start: ({ program, dir, clean, login }) => ({
		argv: [program, "--init-file", join(dir, "init.bash"), "-i"],
		env: {},
		files: {
			"init.bash": script("init.bash", {
				DIR: quoted(dir),
				USER: clean ? "unset HISTFILE" : login ? BASH_LOGIN : "[[ ! -r ~/.bashrc ]] || . ~/.bashrc",
				PAGERS: NO_PAGERS,
			}),
		},
	}),
	deliver(script) {
		const { run, streams } = script;
		// biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash that fills it in
		const end = `{ _dt_d ${'"$?" "${PIPESTATUS[@]}"'}; } ${HIDDEN}`;
		return {
			keys: typed(
				streams === null
					? `_dt ${run};eval "$_DT"`
					: `_dt ${run}${START[streams]};eval "$_DT" >"$_dt_p/1" 2>"$_dt_p/2";_dt_w ${run}`,
			),
			file: framed(script, { begin: `_dt_c ${run}${STATUS_KEPT}`, end }),
		};
	},
};

/** Before the user's own files, and kept in no other: see init.bash. */
const zshNonces = (dir: string) =>
	`typeset -g _dt_aid _dt_end\nIFS=' ' read -r _dt_aid _dt_end <${quoted(join(dir, NONCES))}\n: >|${quoted(join(dir, NONCES))}\n`;

// zsh looks for its start files in ZDOTDIR: ours are there for as long as they are read, then the user's is restored.
const zsh: Shell = {
	start({ program, dir, clean, login, env }) {
		const home = env.ZDOTDIR;
		const back = home === undefined ? "unset ZDOTDIR" : `ZDOTDIR=${quoted(home)}`;
		const own = (file: string) =>
			clean ? ":" : `[[ ! -r \${ZDOTDIR:-$HOME}/${file} ]] || source \${ZDOTDIR:-$HOME}/${file}`;
		const borrow = (file: string) => `${back}\n${own(file)}\n_dt_back="\${ZDOTDIR-}"\nZDOTDIR=${quoted(dir)}\n`;
		return {
			argv: [program, ...(login ? ["-l"] : []), "-i"],
			env: { ZDOTDIR: dir },
			files: {
				".zshenv": `${clean ? "setopt no_global_rcs\n" : ""}${zshNonces(dir)}${borrow(".zshenv")}`,
				".zprofile": `[[ -n $_dt_back ]] && ZDOTDIR=$_dt_back || unset ZDOTDIR\n${own(".zprofile")}\nZDOTDIR=${quoted(dir)}\n`,
				".zshrc": `[[ -n $_dt_back ]] && ZDOTDIR=$_dt_back || unset ZDOTDIR\nunset _dt_back\n${script("init.zsh", {
					DIR: quoted(dir),
					USER: clean ? "unset HISTFILE" : own(".zshrc"),
					PAGERS: NO_PAGERS,
				})}`,
			},
		};
	},
	deliver(script) {
		const { run, streams } = script;
		return {
			keys: typed(
				streams === null
					? `_dt ${run};{ eval "$_DT"; } always { _dt_d $?; }`
					: `_dt ${run}${START[streams]};{ eval "$_DT" >"$_dt_p/1" 2>"$_dt_p/2"; } always { _dt_d $?;_dt_w ${run}; }`,
			),
			file: framed(script, { begin: `_dt_c${STATUS_KEPT}`, end: `{ _dt_d $? $pipestatus; } ${HIDDEN}` }),
		};
	},
};

const fish: Shell = {
	start: ({ program, dir, clean, login }) => ({
		argv: [
			program,
			...(clean ? ["--no-config"] : []),
			...(login ? ["--login"] : []),
			"--interactive",
			"--init-command",
			`source ${fishQuoted(join(dir, "init.fish"))}`,
		],
		env: {},
		files: { "init.fish": script("init.fish", { DIR: fishQuoted(dir), PAGERS: NO_PAGERS_FISH }) },
	}),
	deliver(script) {
		const { run, streams } = script;
		return {
			keys: typed(
				streams === null
					? `_dt ${run};eval $_dt_text`
					: `_dt ${run}${START[streams]};eval $_dt_text >$_dt_p/1 2>$_dt_p/2;_dt_w ${run}`,
			),
			file: framed(script, { begin: "_dt_c", end: "_dt_d $status $pipestatus" }, fishQuoted),
		};
	},
};

const sh: Shell = {
	start: ({ program, dir, clean, login, env }) => ({
		argv: [program, ...(login ? ["-l"] : []), "-i"],
		env: { ENV: join(dir, "init.sh") },
		files: {
			"init.sh": script("init.sh", {
				DIR: quoted(dir),
				USER: clean || !env.ENV ? ":" : `[ ! -r ${quoted(env.ENV)} ] || . ${quoted(env.ENV)}`,
				PAGERS: NO_PAGERS,
			}),
		},
	}),
	deliver(script) {
		const { run, streams } = script;
		const pipes = `"$_DT/${run}.d`;
		return {
			keys: typed(
				streams === null
					? `. "$_DT/${run}"`
					: `${streams === "start" ? `_dt_h ${run};` : ""}. "$_DT/${run}" >${pipes}/1" 2>${pipes}/2";_dt_w ${run}`,
			),
			file: framed(script, { begin: `_dt_c ${run}${STATUS_KEPT}`, end: `{ _dt_d "$?"; } ${HIDDEN}` }),
		};
	},
};

export const shells: Readonly<Record<ShellKind, Shell>> = { bash, zsh, fish, sh };
