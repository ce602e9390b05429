// R5.1, R5.5: commands that break naive shells, with their exact bytes and codes.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { named, skipWithout } from "../programs.ts";
import { Shells } from "./shells.ts";

type Program = "bash" | "zsh" | "fish" | "dash";
const POSIX: readonly Program[] = ["bash", "zsh", "dash"];
const ALL: readonly Program[] = ["bash", "zsh", "fish", "dash"];
const BASH: readonly Program[] = ["bash"];
const BASH_ZSH: readonly Program[] = ["bash", "zsh"];

interface Nasty {
	readonly name: string;
	readonly command: string;
	readonly output: string | Buffer;
	readonly code?: number;
	readonly pipe?: readonly number[];
	readonly in: readonly Program[];
}

const q = "'";
const bigLine = "x".repeat(1_000_000);
const bigText = Array.from({ length: 20_000 }, (_, i) => `line ${i} of a here-document $NOT \`NOT\` "${i}"`).join("\n");

const NASTY: readonly Nasty[] = [
	{ name: "nothing", command: ":", output: "", in: POSIX },
	{ name: "only a comment", command: "# nothing", output: "", in: BASH_ZSH.slice(0, 1) },
	{ name: "single and double quotes", command: `echo "it${q}s" ${q}"quoted"${q}`, output: `it's "quoted"\n`, in: ALL },
	{
		name: "quotes within quotes within quotes",
		command: `bash -c "bash -c ${q}echo \\"deep\\"${q}"`,
		output: "deep\n",
		in: ALL,
	},
	{
		name: "an exclamation mark",
		command: 'echo "wow!! !ls !$"; echo a!b',
		output: "wow!! !ls !$\na!b\n",
		in: BASH_ZSH,
	},
	{
		name: "backslashes",
		command: "printf '%s\\n' 'a\\\\b' \"c\\\\d\" e\\\\f",
		output: "a\\\\b\nc\\d\ne\\f\n",
		in: POSIX,
	},
	{ name: "a backslash at the end", command: "echo end \\", output: "end\n", in: ["bash", "zsh", "fish"] },
	{ name: "a dollar that stays", command: "echo '$HOME' \\$HOME", output: "$HOME $HOME\n", in: ALL },
	{ name: "a here-document", command: "cat <<EOF\na $((1+1)) 'b'\nEOF", output: "a 2 'b'\n", in: POSIX },
	{
		name: "a quoted here-document",
		command: "cat <<'E O F'\n$HOME `id`\n\tEOF\nE O F",
		output: "$HOME `id`\n\tEOF\n",
		in: POSIX,
	},
	{ name: "two here-documents and a tab", command: "cat <<A; cat <<-B\n1\nA\n\t2\n\tB", output: "1\n2\n", in: POSIX },
	{ name: "a here-string", command: 'cat <<<"a b"', output: "a b\n", in: BASH_ZSH },
	{
		name: "a here-document of 1 MB",
		command: `cat <<'EOF' | wc -c\n${bigText}\nEOF`,
		output: `${Buffer.byteLength(bigText) + 1}\n`,
		in: POSIX,
	},
	{ name: "a line of 1 MB", command: `x='${bigLine}'; echo \${#x}`, output: "1000000\n", in: POSIX },
	{
		name: "many lines as one command",
		command: "for i in 1 2\ndo\n  echo $i\ndone\nif true\nthen echo yes\nfi",
		output: "1\n2\nyes\n",
		in: POSIX,
	},
	{ name: "a loop of fish", command: "for i in 1 2\n  echo $i\nend", output: "1\n2\n", in: ["fish"] },
	{ name: "a subshell that leaves", command: "(cd /; exit 3); echo $?", output: "3\n", in: POSIX },
	{
		name: "a failing command",
		command: "sh -c 'exit 42'",
		output: "",
		code: 42,
		pipe: [42],
		in: ["bash", "zsh", "fish"],
	},
	{
		name: "a failure inside a pipe",
		command: "sh -c 'exit 3' | cat",
		output: "",
		code: 0,
		pipe: [3, 0],
		in: ["bash", "zsh", "fish"],
	},
	{
		name: "a long pipe",
		command: "true | (exit 2) | (exit 4) | true",
		output: "",
		code: 0,
		pipe: [0, 2, 4, 0],
		in: BASH_ZSH,
	},
	{
		name: "a reader that has enough",
		command: "yes | head -1",
		output: "y\n",
		code: 0,
		pipe: [141, 0],
		in: ["bash", "zsh", "fish"],
	},
	{ name: "pipefail", command: "set -o pipefail; false | true; echo $?; set +o pipefail", output: "1\n", in: BASH_ZSH },
	{
		name: "a command that is not there",
		command: "no_such_command_here 2>/dev/null",
		output: "",
		code: 127,
		in: ["bash", "zsh", "dash"],
	},
	{ name: "a command that may not be executed", command: "/etc/passwd 2>/dev/null", output: "", code: 126, in: POSIX },
	{ name: "one killed by a signal", command: "sh -c 'kill -KILL $$'", output: "Killed\n", code: 137, in: BASH },
	{ name: "a trap on exit in a subshell", command: "(trap 'echo bye' EXIT; echo hi)", output: "hi\nbye\n", in: POSIX },
	{ name: "a trap on errors", command: "trap 'echo failed' ERR; false; trap - ERR", output: "failed\n", in: BASH },
	{
		name: "a trap on debug",
		command: "trap 'echo now' DEBUG; echo a; trap - DEBUG",
		output: "now\na\nnow\n",
		in: BASH,
	},
	{
		name: "a variable that is not set, under set -u",
		command: "set -u; echo before; echo $NO_SUCH_VARIABLE 2>/dev/null; echo not reached",
		output: "before\nbash: NO_SUCH_VARIABLE: unbound variable\n",
		code: 1,
		in: BASH,
	},
	{ name: "leaving set -u", command: "set +u; echo still here", output: "still here\n", in: BASH },
	{ name: "tracing", command: "set -x; echo traced; set +x", output: "++ echo traced\ntraced\n++ set +x\n", in: BASH },
	{ name: "an alias", command: "alias greet='echo hello'\ngreet world", output: "hello world\n", in: BASH },
	{
		name: "a function with locals",
		command: "f() { local inner=1; outer=2; }; f; echo in=$inner out=$outer",
		output: "in= out=2\n",
		in: POSIX,
	},
	{ name: "declare stays global", command: "declare -A map=([a]=1); echo ${map[a]}", output: "1\n", in: BASH },
	{ name: "unicode", command: "echo 'ärger 日本語 🦀 é'", output: "ärger 日本語 🦀 é\n", in: ALL },
	{ name: "NUL bytes in the output", command: "printf 'a\\0b\\0'", output: "a\0b\0", in: ALL },
	{ name: "no newline at the end", command: "printf 'no end'", output: "no end", in: ALL },
	{ name: "carriage returns", command: "printf '1\\r2\\r\\n3\\n'", output: "1\r2\r\n3\n", in: ALL },
	{
		name: "all bytes there are",
		command:
			"LC_ALL=C awk 'BEGIN { for (i = 0; i < 256; i++) if (i != 10) printf \"%c\", i }' </dev/null | od -An -v -tx1 | tr -d ' \\n' | wc -c",
		output: "510\n",
		in: BASH,
	},
	{
		name: "binary output",
		command: "head -c 100000 /dev/zero | tr '\\0' '\\377'; echo",
		output: Buffer.concat([Buffer.alloc(100_000, 0xff), Buffer.from("\n")]),
		in: POSIX,
	},
	{
		name: "100,000 lines",
		command: "seq 1 100000",
		output: Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join(""),
		in: ALL,
	},
	{ name: "a line of 1 MB as output", command: "head -c 1000000 /dev/zero | tr '\\0' x", output: bigLine, in: ALL },
	{ name: "stderr and stdout in order", command: "echo 1; echo 2 >&2; echo 3", output: "1\n2\n3\n", in: ALL },
	{
		name: "marks that are fakes",
		command: "printf '\\033]133;D;0\\007\\033]133;D;0;aid=0123;n=9\\007real\\n'",
		output: "\x1b]133;D;0\x07\x1b]133;D;0;aid=0123;n=9\x07real\n",
		in: ALL,
	},
	{ name: "a prompt of somebody else", command: "printf '$ '; printf '\\n>>> \\n'", output: "$ \n>>> \n", in: ALL },
	{ name: "arithmetic that looks like a here-document", command: "echo $((1<<4))", output: "16\n", in: POSIX },
	{
		name: "a pipe with nothing behind it",
		command: "true |",
		output: "bash: syntax error: unexpected end of file\n",
		code: 2,
		in: BASH,
	},
	{
		name: "a quote that is never closed",
		command: "echo 'open",
		output: "bash: unexpected EOF while looking for matching `''\n",
		code: 2,
		in: BASH,
	},
	{
		name: "a parenthesis too many",
		command: "echo 1\n)\necho 2",
		output: "1\nbash: syntax error near unexpected token `)'\n",
		code: 2,
		in: BASH,
	},
	{
		name: "its own text in pkill -f",
		command: "pkill -f 'pkill -f .*unlikely_text_9471'; echo alive",
		output: "alive\n",
		in: ALL,
	},
	{
		name: "stdin that is the terminal",
		command: "test -t 0 && test -t 1 && test -t 2 && echo terminal",
		output: "terminal\n",
		in: ALL,
	},
	{
		name: "a process substitution",
		command: "diff <(echo a) <(echo b) | head -1",
		output: "1c1\n",
		code: 0,
		in: BASH_ZSH,
	},
	{
		name: "brackets and globs that match nothing",
		command: "echo [ab]no_such_* 'a*'",
		output: "[ab]no_such_* a*\n",
		in: ["bash", "dash"],
	},
	{ name: "the status of the command before", command: "echo $?", output: "0\n", in: POSIX },
];

describe.each(ALL)("R5.1 nasty commands in %s", (program) => {
	let shells: Shells;
	beforeAll(async () => {
		shells = await Shells.open();
	});
	afterAll(() => shells[Symbol.asyncDispose]());

	test.for(NASTY.filter((it) => it.in.includes(program)))("$name", async ({ command, output, code, pipe }, context) => {
		skipWithout(context, ...named([program, command]));
		const facts = await shells.run(command, { program, shell: program });
		const bytes = await shells.bytes(facts);
		// Not toEqual on a megabyte: its difference takes minutes to print.
		if (bytes.length > 5000) expect(bytes.equals(Buffer.from(output))).toBe(true);
		else expect(bytes.toString("latin1")).toBe(Buffer.from(output).toString("latin1"));
		expect(facts.exitCode).toBe(code ?? 0);
		if (pipe !== undefined) expect(facts.pipeStatus).toEqual(pipe);
		expect(facts.returned).toBe("ended");
		expect(facts.shellNote).toBeNull();
	});
});
