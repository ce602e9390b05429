// What programs run for their own arguments, where an option carries a command: `tar --to-command=…`, `vim -c '!…'`.
// Those that run what follows them are in rules.ts, git in git-commands.ts. Scripts of a program (awk, Python) are not seen.

import { ANY, type CommandLine, commandsIn, joined } from "./command-line.ts";

/** How the command is found in the value of an option; null: what it runs cannot be known. */
type Reading = (value: string) => readonly string[] | null;

interface Program {
	/** Short options that carry a command; long ones are all looked into. */
	readonly short: string;
	readonly read: Reading;
	/** Any other argument may carry one, too. */
	readonly operands?: boolean;
}

const asCommand: Reading = (value) => [value.replace(/^\w+=/, "")];
const asSetting: Reading = (value) => [value.replace(/^\w+\s*[=\s]\s*/, "")];
const afterBang: Reading = (value) => (value.includes("!") ? [value.slice(value.indexOf("!") + 1)] : []);
const asMakefile: Reading = (value) => (/^(?:-|\/dev\/.*|\0)$/s.test(value) ? null : [value]);

const SED_PART = new RegExp(
	[
		String.raw`\/(?:\\.|[^\\/])*\/`,
		String.raw`(?<change>[sy])([^\w\s])(?:\\.|(?!\2)[^\\])*\2(?:\\.|(?!\2)[^\\])*\2(?<flags>\w*)`,
		String.raw`e(?<run>[^\n]*)`,
		String.raw`[aicrRwW#][^\n]*`,
		String.raw`[btT:][^;\n]*`,
		".",
	].join("|"),
	"gs",
);

/** `1e command`; what `e` alone and `s/…/…/e` run is in the file that is edited. */
const asSedScript: Reading = (script) => {
	const parts = [...script.matchAll(SED_PART)].map(({ groups = {} }) => groups);
	const unknown = parts.some(({ flags, run }) => flags?.includes("e") || run?.trim() === "");
	return unknown ? null : parts.flatMap(({ run }) => run ?? []);
};

const VIM: Program = { short: "c", read: afterBang };
const SSH: Program = { short: "oS", read: asSetting };
const TAR: Program = { short: "IF", read: asCommand };
const MAKE: Program = { short: "f", read: asMakefile };
const PAGER: Program = { short: "", read: afterBang };

const PROGRAMS = new Map<string, Program>([
	...["vim", "vi", "nvim", "ex", "view", "gvim", "vimdiff"].map((name) => [name, VIM] as const),
	...["ssh", "scp", "sftp"].map((name) => [name, SSH] as const),
	...["tar", "gtar", "bsdtar"].map((name) => [name, TAR] as const),
	...["make", "gmake"].map((name) => [name, MAKE] as const),
	...["less", "more"].map((name) => [name, PAGER] as const),
	...["sed", "gsed"].map((name) => [name, { short: "e", read: asSedScript, operands: true }] as const),
	["split", { short: "", read: asCommand }],
	["rsync", { short: "e", read: asCommand }],
	["man", { short: "PH", read: asCommand }],
]);

export function commandsOfOptions(name: string, args: readonly string[]): CommandLine {
	const program = PROGRAMS.get(name);
	if (program === undefined) return { commands: [], unclear: false };
	const read = args.flatMap((_, at) => valuesAt(program, args, at)).map(program.read);
	const lines = read.flatMap((texts) => texts ?? []).map((text) => commandsIn(text.replaceAll(ANY, "$x")));
	return joined([...lines, { commands: [], unclear: read.includes(null) }]);
}

/** What the option at this place carries: in its own word, or in the next. */
function valuesAt({ short, operands }: Program, args: readonly string[], at: number): readonly string[] {
	const word = args[at]!;
	const next = args.slice(at + 1, at + 2);
	const long = /^--\w[\w-]*(?:=(.*))?$/s.exec(word);
	if (long) return long[1] === undefined ? next : [long[1]];
	if (word.startsWith("+")) return [word.slice(1)];
	const letter = word.startsWith("-") || at === 0 ? (/^-?(\w*)/.exec(word)?.[1] ?? "").search(`[${short}]`) : -1;
	if (short !== "" && letter >= 0 && word.startsWith("-")) {
		const glued = word.slice(letter + 2);
		return glued === "" ? next : [glued];
	}
	// Letters without a dash, `tar xIf command file`: their values follow in the order of the letters.
	if (short === TAR.short && letter >= 0) return args.slice(1);
	return operands && !word.startsWith("-") ? [word] : [];
}
