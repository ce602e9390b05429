// Which command a word means: its name, an alias, or an unambiguous beginning; otherwise
// what may have been meant.

import { nearest } from "../protocol/nearest.ts";
import { own } from "../protocol/own.ts";
import type { Command } from "./command.ts";

/** What people of other tools type, where it is no alias. */
const SYNONYMS: Readonly<Record<string, string>> = {
	open: "start",
	create: "start",
	spawn: "start",
	launch: "start",
	shell: "start",
	"new-session": "start",
	type: "send",
	write: "send",
	input: "send",
	press: "send",
	"send-keys": "send",
	capture: "screen",
	"capture-pane": "screen",
	show: "screen",
	view: "read",
	tail: "logs",
	output: "logs",
	cat: "logs",
	sessions: "ls",
	top: "ls",
	status: "ls",
	end: "stop",
	quit: "stop",
	terminate: "stop",
	"kill-session": "stop",
	detach: "attach",
	join: "attach",
	connect: "attach",
	watch: "attach",
	delete: "rm",
	remove: "rm",
	forget: "rm",
	prune: "rm",
	record: "export",
	save: "export",
	play: "replay",
	sleep: "wait",
	server: "serve",
	http: "serve",
	login: "web",
	browser: "web",
	ui: "web",
	restart: "daemon",
};

const MIN_BEGINNING = 2;

const FLAGS: Readonly<Record<string, string>> = {
	"--help": "help",
	"-h": "help",
	"--version": "version",
	"-v": "version",
	"-V": "version",
};

const namesOf = ({ name, aliases = [] }: Command) => [name, ...aliases];

export function findCommand(word: string, commands: readonly Command[]): Command | readonly string[] {
	const wanted = own(FLAGS, word) ?? word;
	const exact = commands.find((command) => namesOf(command).includes(wanted));
	if (exact !== undefined) return exact;
	const visible = commands.filter(({ hidden }) => !hidden);
	const begun = visible.filter((command) => namesOf(command).some((name) => name.startsWith(word)));
	if (begun.length === 1 && word.length >= MIN_BEGINNING) return begun[0]!;
	if (begun.length > 0) return begun.map(({ name }) => name);
	const synonym = own(SYNONYMS, word);
	return synonym ? [synonym] : nearest(word, visible.flatMap(namesOf));
}

export function unknownCommand(word: string, near: readonly string[]): string {
	const [last, ...others] = near.toReversed();
	const meant =
		last === undefined
			? ""
			: ` Did you mean ${others.length > 0 ? `${others.toReversed().join(", ")} or ` : ""}${last}?`;
	return `dialtone: there is no command "${word}".${meant} See dialtone help.\n`;
}
