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
	login: "token",
	restart: "daemon",
};

const MIN_BEGINNING = 2;

const FLAGS: Readonly<Record<string, string>> = { "--help": "help", "-h": "help", "--version": "version" };

const namesOf = ({ name, aliases = [] }: Command) => [name, ...aliases];

export function findCommand(word: string, commands: readonly Command[]): Command | readonly string[] {
	const wanted = own(FLAGS, word) ?? word;
	const exact = commands.find((command) => namesOf(command).includes(wanted));
	if (exact !== undefined) return exact;
	const visible = commands.filter(({ hidden }) => !hidden);
	const begun =
		word.length < MIN_BEGINNING
			? []
			: visible.filter((command) => namesOf(command).some((name) => name.startsWith(word)));
	if (begun.length === 1) return begun[0]!;
	if (begun.length > 1) return begun.map(({ name }) => name);
	const synonym = own(SYNONYMS, word);
	return synonym ? [synonym] : nearest(word, visible.flatMap(namesOf));
}

export function unknownCommand(word: string, near: readonly string[]): string {
	const meant = near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : "";
	return `dialtone: there is no command "${word}".${meant} See dialtone help.\n`;
}
