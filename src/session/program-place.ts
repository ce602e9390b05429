// Programs in other places: over ssh, or in a container. One row for each kind says how its places are written and
// which command line runs a program there. That command line is what the holder starts, like any other: the tool
// inherits its caller's environment, is confined by its sandbox, and asks for its password on the terminal.
//
// Of the caller's side the program gets nothing but the directory and the variables that the call names.

import type { PlaceRecord } from "../journal/records.ts";
import { Fault } from "../protocol/fault.ts";
import { type CommandLine, commandOf, commandsIn } from "./command-line.ts";

interface Kind {
	/** What follows the colon, for people. */
	readonly form: string;
	readonly pattern: RegExp;
	/** The tool and what leads it to the place; `parts` are the pattern's groups, and an empty one was not given. */
	readonly tool: (parts: readonly string[], what: PlaceRecord) => readonly string[];
	/** What follows: the program there. */
	readonly program: (what: PlaceRecord) => readonly string[];
	/** Where programs begin if the call names no directory. */
	readonly directory: string;
	/** Exit codes that the tool also has for its own ends, and what they may mean then; a program there may end with the same. */
	readonly ownExits: Readonly<Record<number, string>>;
}

const CONTAINER = /^([A-Za-z0-9][\w.-]*)$/;
/** What Docker would take for detaching: by default Ctrl+P, which it holds back from the program until the next key. */
const DETACH_KEYS = "ctrl-@,ctrl-],ctrl-@";
/** bash where there is one. */
const A_SHELL = ["sh", "-c", 'exec "$(command -v bash || echo sh)"'] as const;

const KINDS: Readonly<Record<string, Kind>> = {
	ssh: {
		form: "[USER@]HOST[:PORT]",
		pattern: /^(?:([A-Za-z0-9_.][\w.+-]*)@)?([A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?$/,
		// `-e none`: a `~` at the start of a line is the program's. `--` before the host ends the options for good.
		tool: ([user, host, port]) => [
			...["ssh", "-tt", "-e", "none", ...(port ? ["-p", port] : []), "--"],
			`${user ? `${user}@` : ""}${host?.replace(/^\[(.*)\]$/, "$1")}`,
		],
		program: remoteLine,
		directory: "~",
		ownExits: { 255: "ssh itself may have failed" },
	},
	docker: {
		form: "CONTAINER",
		pattern: CONTAINER,
		tool: ([name = ""], what) => ["docker", ...execOptions(DETACH_KEYS, what), name],
		program: programOf,
		directory: ".",
		ownExits: { 125: "docker itself may have failed" },
	},
	podman: {
		form: "CONTAINER",
		pattern: CONTAINER,
		tool: ([name = ""], what) => ["podman", ...execOptions("", what), name],
		program: programOf,
		directory: ".",
		ownExits: { 125: "podman itself may have failed" },
	},
	kubectl: {
		form: "[NAMESPACE/]POD[:CONTAINER]",
		pattern: /^(?:([a-z0-9][a-z0-9-]*)\/)?([a-z0-9][a-z0-9.-]*)(?::([a-z0-9][a-z0-9-]*))?$/,
		tool: ([namespace, pod = "", container]) => [
			...["kubectl", "exec", "-it", ...(namespace ? ["-n", namespace] : []), pod],
			...[...(container ? ["-c", container] : []), "--"],
		],
		program: (what) => inDirectory(what, [...variables(what), ...programOf(what)]),
		directory: ".",
		// Over SPDY it takes a connection that was lost for the end of a program that succeeded.
		ownExits: { 0: "kubectl before 1.31 says so of a lost connection, too", 1: "kubectl itself may have failed" },
	},
};

/** How places are written, for people and faults. */
export const PLACE_FORMS: readonly string[] = Object.entries(KINDS).map(([kind, { form }]) => `${kind}:${form}`);

/** Null where this is no place. */
function parsed(
	place: string,
): { readonly kind: string; readonly row: Kind; readonly parts: readonly string[] } | null {
	const at = place.indexOf(":");
	const kind = place.slice(0, at);
	const row = Object.hasOwn(KINDS, kind) ? KINDS[kind]! : null;
	const found = row?.pattern.exec(place.slice(at + 1)) ?? null;
	return row === null || found === null ? null : { kind, row, parts: found.slice(1).map((part) => part ?? "") };
}

export const isPlace = (place: string): boolean => parsed(place) !== null;

function known({ in: place }: Pick<PlaceRecord, "in">): NonNullable<ReturnType<typeof parsed>> {
	const found = parsed(place);
	if (found !== null) return found;
	throw new Fault("bad_input", { problems: [`\`in\` is one of ${PLACE_FORMS.join(", ")}, not "${place}"`] });
}

/** The command line that runs it there. */
export function placedArgv(what: PlaceRecord): readonly string[] {
	const odd = Object.keys(what.env).find((name) => !/^[A-Za-z_]\w*$/.test(name));
	if (odd !== undefined)
		throw new Fault("bad_input", { problems: [`a variable called "${odd}" cannot be carried to ${what.in}`] });
	const { row, parts } = known(what);
	return [...row.tool(parts, what), ...row.program(what)];
}

/** The tool that runs it there: `ssh`. */
export const toolOf = (place: Pick<PlaceRecord, "in">): string => known(place).kind;

/** What runs there, as a person would write it. */
export const placedCommand = ({ command, argv }: PlaceRecord): string => argv?.join(" ") ?? command ?? "shell";

/** Where it began, in the words of that place. */
export const placedDirectory = (what: PlaceRecord): string => what.cwd ?? parsed(what.in)?.row.directory ?? ".";

/** What the exit code may mean beside its program's end; null: nothing else. */
export function toolFailure(what: PlaceRecord, code: number | null): string | null {
	return code === null ? null : (parsed(what.in)?.row.ownExits[code] ?? null);
}

/** A shell there reads what is typed. */
export const runsShell = ({ argv }: PlaceRecord): string | null => (argv === null ? "sh" : (argv[0] ?? null));

/**
 * All that it runs, there and here, for rules: as the caller wrote it, without what carries its directory and variables,
 * in which rules would find a shell and an unknown command.
 */
export function placedLine(what: PlaceRecord): CommandLine {
	const { command, argv } = what;
	const there = argv !== null ? commandOf(argv) : command !== null ? commandsIn(command) : commandOf(["sh"]);
	const { row, parts } = known(what);
	const words = [...row.tool(parts, { ...what, cwd: null, env: {} }), ...(argv ?? (command === null ? [] : [command]))];
	return { ...there, commands: [...there.commands, { words }] };
}

function programOf({ command, argv }: PlaceRecord): readonly string[] {
	return argv ?? (command === null ? A_SHELL : ["sh", "-c", command]);
}

const pairs = ({ env }: PlaceRecord) => Object.entries(env).map(([name, value]) => `${name}=${value}`);
const variables = (what: PlaceRecord) => (pairs(what).length === 0 ? [] : ["env", ...pairs(what)]);

function execOptions(detachKeys: string, what: PlaceRecord): readonly string[] {
	const directory = what.cwd === null ? [] : ["-w", what.cwd];
	const env = pairs(what).flatMap((pair) => ["-e", pair]);
	return ["exec", "-it", "--detach-keys", detachKeys, ...directory, ...env];
}

/** kubectl has no option for it: a shell there changes to it first. */
const inDirectory = ({ cwd }: PlaceRecord, argv: readonly string[]): readonly string[] =>
	cwd === null ? argv : ["sh", "-c", 'cd "$0" && exec "$@"', asOperand(cwd), ...argv];

/** Not an option, and not looked for in CDPATH. */
const asOperand = (directory: string) => (directory.startsWith("/") ? directory : `./${directory}`);

/** What sshd gives to the user's login shell there: nothing for a login shell, else one line. */
function remoteLine(what: PlaceRecord): readonly string[] {
	const { command, argv, cwd, env } = what;
	const isPlain = cwd === null && Object.keys(env).length === 0;
	if (isPlain && argv === null) return command === null ? [] : [command];
	const words = [...variables(what), ...(argv ?? [])].map(quotedForShells);
	if (argv === null) words.push('"$SHELL"', ...(command === null ? ["-l"] : ["-c", quotedForShells(command)]));
	// It starts in the home directory.
	const directory = cwd === null ? null : asOperand(cwd.replace(/^~(?:\/+|$)/, "") || ".");
	return [`${directory === null ? "" : `cd ${quotedForShells(directory)} && `}exec ${words.join(" ")}`];
}

/**
 * A word that reads the same in sh, bash, zsh, ksh, fish, csh and tcsh: within single quotes fish has escapes and csh its
 * history, so a quote, a backslash and an exclamation mark stand outside. csh alone takes no newline.
 */
export function quotedForShells(word: string): string {
	if (/^[\w@+:,./-]+$/.test(word)) return word;
	const parts = word.match(/['\\!]|[^'\\!]+/g) ?? [""];
	return parts.map((part) => (/^['\\!]$/.test(part) ? `\\${part}` : `'${part}'`)).join("");
}
