// How each shell is started, and how a command is put into its hands.
//
// One row a shell. The scripts are real files in shell/ at the top of the
// package; what they promise is in docs/shell.md. Who types and waits is run.ts.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isClosed } from "./closed.ts";

export type ShellKind = "bash" | "zsh" | "fish" | "sh";

export interface ShellLaunch {
	/** bash, /bin/zsh, … */
	readonly program: string;
	/** A directory of this session's own, 0700. */
	readonly dir: string;
	/** The nonce: in a file that only this user can read, never in the environment. */
	readonly aid: string;
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
	readonly aid: string;
	readonly command: string;
	/** Change to this directory first; it exists. */
	readonly cwd: string | null;
	/** Written to the terminal first, so that whoever watches sees the command and not how it is delivery over. */
	readonly paint: string;
	/** Keep 1 and 2 apart, in the files RUN.out1 and RUN.out2. */
	readonly separate: boolean;
}

export interface Delivery {
	/** To be written into `dir` before the keys are typed, 0600. */
	readonly files: Readonly<Record<string, string>>;
	readonly keys: string;
}

interface Shell {
	start(launch: ShellLaunch): ShellStart;
	deliver(script: CommandScript): Delivery;
}

/** Which row serves a program; any other program is taken for a plain shell. */
export function shellKind(program: string): ShellKind {
	const name = basename(program).replace(/^-/, "");
	return name === "bash" || name === "zsh" || name === "fish" ? name : "sh";
}

const SCRIPTS = join(import.meta.dirname, "../../../shell");

function script(name: string, words: Readonly<Record<string, string>> = {}): string {
	const text = readFileSync(join(SCRIPTS, name), "utf8");
	return text.replaceAll(/@([A-Z]+)@/g, (whole, word: string) => words[word] ?? whole);
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const fishQuoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

// A pager would wait for a key that no agent knows to press. After the user's own files, which like to set one.
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
// Hands the status of the command before to the first line, and neither `set -e` nor a trap on errors
// takes that for a failure. A loop over nothing, because it alone is neither traced nor trapped.
const STATUS_KEPT = " && for _dt_i in; do :; done";
const HIDDEN = ">/dev/null 2>&1";
const APART = `3>&1 4>&2 ${HIDDEN}`;

interface Frame {
	readonly begin: string;
	readonly end: string;
}

function framed({ command, cwd, paint }: CommandScript, { begin, end }: Frame, quote = quoted): string {
	const before = [
		paint === "" ? "" : `printf %s ${quote(paint)} >/dev/tty\n`,
		cwd === null ? "" : `cd -- ${quote(cwd)} >/dev/null\n`,
	];
	return `${before.join("")}${begin}\n${command}\n\n${isClosed(command) ? `${end}\n` : ""}`;
}

/** What runs the file `RUN.text` with 1 and 2 through the pipes of streams.sh. */
function parted(dir: string, source: string, { run, aid }: CommandScript): string {
	return `sh ${dir}/streams.sh ${dir} ${aid} ${run}\n${source} ${dir}/${run}.text >${dir}/${run}.1 2>${dir}/${run}.2\n_dt_w ${run}\n`;
}

const BASH_LOGIN = `[[ ! -r /etc/profile ]] || . /etc/profile
	for _dt_i in ~/.bash_profile ~/.bash_login ~/.profile; do
		[[ ! -r $_dt_i ]] || { . "$_dt_i"; break; }
	done`;

const bash: Shell = {
	start: ({ program, dir, aid, clean, login }) => ({
		argv: [program, "--init-file", join(dir, "init.bash"), "-i"],
		env: {},
		files: {
			"init.bash": script("init.bash", {
				DIR: quoted(dir),
				AID: aid,
				USER: clean ? "unset HISTFILE" : login ? BASH_LOGIN : "[[ ! -r ~/.bashrc ]] || . ~/.bashrc",
				PAGERS: NO_PAGERS,
			}),
		},
	}),
	deliver(script) {
		const begin = `_dt_c ${script.run}${STATUS_KEPT}`;
		// biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash that fills it in
		const codes = '"$?" "${PIPESTATUS[@]}"';
		return {
			keys: typed(`_dt ${script.run};eval "$_DT"`),
			files: script.separate
				? {
						[script.run]: `${begin}\n${parted('"$_dt_dir"', ".", script)}`,
						[`${script.run}.text`]: framed(script, { begin, end: `{ _dt_e ${codes}; } ${APART}` }),
					}
				: { [script.run]: framed(script, { begin, end: `{ _dt_d ${codes}; } ${HIDDEN}` }) },
		};
	},
};

// zsh looks for its start files in ZDOTDIR: ours are there for as long as they are read, then the user's place is put back.
const zsh: Shell = {
	start({ program, dir, aid, clean, login, env }) {
		const home = env.ZDOTDIR;
		const back = home === undefined ? "unset ZDOTDIR" : `ZDOTDIR=${quoted(home)}`;
		const own = (file: string) =>
			clean ? ":" : `[[ ! -r \${ZDOTDIR:-$HOME}/${file} ]] || source \${ZDOTDIR:-$HOME}/${file}`;
		const borrow = (file: string) => `${back}\n${own(file)}\n_dt_back="\${ZDOTDIR-}"\nZDOTDIR=${quoted(dir)}\n`;
		return {
			argv: [program, ...(login ? ["-l"] : []), "-i"],
			env: { ZDOTDIR: dir },
			files: {
				".zshenv": `${clean ? "setopt no_global_rcs\n" : ""}${borrow(".zshenv")}`,
				".zprofile": `[[ -n $_dt_back ]] && ZDOTDIR=$_dt_back || unset ZDOTDIR\n${own(".zprofile")}\nZDOTDIR=${quoted(dir)}\n`,
				".zshrc": `[[ -n $_dt_back ]] && ZDOTDIR=$_dt_back || unset ZDOTDIR\nunset _dt_back\n${script("init.zsh", {
					DIR: quoted(dir),
					AID: aid,
					USER: clean ? "unset HISTFILE" : own(".zshrc"),
					PAGERS: NO_PAGERS,
				})}`,
			},
		};
	},
	deliver(script) {
		const begin = `_dt_c${STATUS_KEPT}`;
		const codes = "$? $pipestatus";
		return {
			keys: typed(`_dt ${script.run};{ eval "$_DT"; } always { _dt_d $?; }`),
			files: script.separate
				? {
						[script.run]: parted("$_dt_dir", "source", script),
						[`${script.run}.text`]: framed(script, { begin, end: `{ _dt_e ${codes}; } ${APART}` }),
					}
				: { [script.run]: framed(script, { begin, end: `{ _dt_d ${codes}; } ${HIDDEN}` }) },
		};
	},
};

const fish: Shell = {
	start: ({ program, dir, aid, clean, login }) => ({
		argv: [
			program,
			...(clean ? ["--no-config"] : []),
			...(login ? ["--login"] : []),
			"--interactive",
			"--init-command",
			`source ${fishQuoted(join(dir, "init.fish"))}`,
		],
		env: {},
		files: { "init.fish": script("init.fish", { DIR: fishQuoted(dir), AID: aid, PAGERS: NO_PAGERS_FISH }) },
	}),
	deliver(script) {
		const begin = "_dt_c";
		const codes = "$status $pipestatus";
		const { run } = script;
		return {
			keys: typed(`_dt ${run};eval (string collect <$_DT/${run})`),
			files: script.separate
				? {
						[run]: parted("$_DT", "source", script),
						[`${run}.text`]: framed(script, { begin, end: `_dt_e ${codes}` }, fishQuoted),
					}
				: { [run]: framed(script, { begin, end: `_dt_d ${codes}` }, fishQuoted) },
		};
	},
};

const sh: Shell = {
	start: ({ program, dir, aid, clean, login, env }) => ({
		argv: [program, ...(login ? ["-l"] : []), "-i"],
		env: { ENV: join(dir, "init.sh") },
		files: {
			"init.sh": script("init.sh", {
				DIR: quoted(dir),
				AID: aid,
				USER: clean || !env.ENV ? ":" : `[ ! -r ${quoted(env.ENV)} ] || . ${quoted(env.ENV)}`,
				PAGERS: NO_PAGERS,
			}),
		},
	}),
	deliver(script) {
		const { run } = script;
		const begin = `_dt_c ${run}${STATUS_KEPT}`;
		return {
			keys: typed(`. "$_DT/${run}"`),
			files: script.separate
				? {
						[run]: `${begin}\n${parted('"$_DT"', ".", script)}`,
						[`${run}.text`]: framed(script, { begin, end: `{ _dt_e "$?"; } ${APART}` }),
					}
				: { [run]: framed(script, { begin, end: `{ _dt_d "$?"; } ${HIDDEN}` }) },
		};
	},
};

export const shells: Readonly<Record<ShellKind, Shell>> = { bash, zsh, fish, sh };

/** Needed beside every shell's own files. */
export const commonFiles = (): Readonly<Record<string, string>> => ({ "streams.sh": script("streams.sh") });
