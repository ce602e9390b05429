// An outside opinion: libvterm's own test scripts, run against our screen.
// `npx tsx test/terminal/outside-suite.ts [DIR]` prints what passes and what does not.
//
// The scripts are not ours, so they are not in the repository: without DIR they are fetched
// as Debian's source package into a temporary directory. Judged is what a person could see
// (cursor, characters, attributes) and what the program would hear (answers); libvterm's
// inner callbacks and its opinions on key encoding are not.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Screen } from "../../src/terminal/screen.ts";

const VERBOSE = process.argv.includes("-v");

function fetchScripts(into: string): string {
	for (const folder of ["lists/partial", "cache/archives/partial"]) mkdirSync(join(into, folder), { recursive: true });
	const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
	writeFileSync(join(into, "sources"), `deb-src [signed-by=${keyring}] http://deb.debian.org/debian bookworm main\n`);
	const options = {
		"Dir::Etc::sourcelist": join(into, "sources"),
		"Dir::Etc::sourceparts": "-",
		"Dir::State::lists": join(into, "lists"),
		"Dir::Cache": join(into, "cache"),
		"APT::Sandbox::User": "root",
	};
	const flags = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
	const apt = (...args: string[]) => execFileSync("apt-get", [...flags, "-q", ...args], { cwd: into, stdio: "ignore" });
	apt("update");
	apt("source", "--download-only", "libvterm");
	const archive = readdirSync(into).find((file) => file.endsWith(".orig.tar.gz"))!;
	execFileSync("tar", ["xzf", archive], { cwd: into });
	return join(into, readdirSync(into).find((file) => /^libvterm-/.test(file))!, "t");
}

/** A string as Perl would read it, as bytes in Latin-1: "\e[1m"x3 . "b". Null for what we do not read. */
function perl(source: string): string | null {
	let text = "";
	let rest = source.trim();
	while (rest !== "") {
		const match = /^"((?:[^"\\]|\\.)*)"\s*(?:x\s*(\d+))?\s*(?:\.\s*)?/s.exec(rest);
		if (!match) return null;
		const piece = match[1]!.replace(
			/\\(x\{([0-9a-f]+)\}|x([0-9a-f]{1,2})|.)/gi,
			(_, letter: string, wide?: string, byte?: string) => {
				const code = wide ?? byte;
				if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
				return (
					({ e: "\x1b", n: "\n", r: "\r", t: "\t", b: "\b", a: "\x07", "0": "\0" } as Record<string, string>)[letter] ??
					letter
				);
			},
		);
		text += piece.repeat(Number(match[2] ?? 1));
		rest = rest.slice(match[0].length);
	}
	return text;
}

const codes = (text: string) => [...text].map((char) => `0x${char.codePointAt(0)!.toString(16)}`).join(",");

class Run {
	passed = 0;
	failures: string[] = [];
	#screen = new Screen({ cols: 80, rows: 25 });
	#received = "";
	#expectsOutput: string | null = null;
	#about = "";
	/** The command was output of the program, not a key or the mouse. */
	#pushed = false;

	line(line: string): void {
		const sequence = /^\$SEQ\s+(\d+)\s+(\d+):\s*(.*)$/.exec(line);
		const repetition = /^\$REP\s+(\d+):\s*(.*)$/.exec(line);
		if (sequence)
			for (let i = Number(sequence[1]); i <= Number(sequence[2]); i++)
				this.line(sequence[3]!.replaceAll("\\#", String(i)));
		else if (repetition) for (let i = 0; i < Number(repetition[1]); i++) this.line(repetition[2]!);
		else if (line.startsWith("!")) {
			this.end();
			this.#about = line.slice(1);
		} else if (/^[A-Z]/.test(line)) {
			this.end();
			this.#command(line);
		} else if (line.startsWith("?")) {
			this.end();
			this.#assertion(line.slice(1));
		} else if (this.#pushed && /^output /.test(line))
			this.#expectsOutput = (this.#expectsOutput ?? "") + (perl(line.slice(7)) ?? "");
	}

	/** The command before is over: was the answer the expected one? */
	end(): void {
		if (this.#expectsOutput !== null) this.#judge(`${this.#about}: answer`, this.#received, this.#expectsOutput);
		this.#expectsOutput = null;
		this.#received = "";
	}

	#command(line: string): void {
		const [word, ...args] = line.split(" ");
		this.#pushed = word === "PUSH";
		if (word === "INIT") {
			this.#screen = new Screen({ cols: 80, rows: 25 });
			this.#screen.onReply((bytes) => {
				this.#received += new TextDecoder("latin1").decode(bytes);
			});
		}
		if (word === "RESET") this.#screen.feed(new TextEncoder().encode("\x1bc"));
		if (word === "RESIZE") {
			const [rows, cols] = args[0]!.split(",").map(Number);
			this.#screen.resize(cols!, rows!);
		}
		const text = word === "PUSH" ? perl(line.slice(5)) : null;
		if (text !== null) this.#screen.feed(Uint8Array.from(text, (char) => char.charCodeAt(0)));
	}

	#assertion(line: string): void {
		const [question, want = ""] = line.split(/\s*=\s*(.*)$/s);
		const [kind, place = ""] = question!.trim().split(/\s+/);
		const judge = (got: string, wanted = want) => this.#judge(`${this.#about}: ${question}`, got, wanted);
		const { cursor } = this.#screen;
		if (kind === "cursor") judge(`${cursor.row},${cursor.column}`);
		if (kind === "screen_row") judge(this.#text(Number(place), 0, 80), (perl(want) ?? want).trimEnd());
		if (kind === "screen_chars" || kind === "screen_text") {
			const [row, from, endRow, to] = place.split(",").map(Number);
			if (endRow !== row! + 1) return;
			const text = this.#text(row!, from!, to!);
			// Characters are told as code points, text as the bytes of its UTF-8.
			const told = kind === "screen_chars" ? text : String.fromCharCode(...new TextEncoder().encode(text));
			judge(codes(told), hexes(want));
		}
		if (kind === "screen_cell") {
			const [row, column] = place.split(",").map(Number);
			const wanted = /^\{(.*?)\} width=(\d) attrs=\{(.*?)\}/.exec(want);
			const run = this.#screen.styledRows()[row!]!.find((it) => it.column <= column! && column! < it.column + it.width);
			if (!wanted || !run) return;
			const char = run.width === [...run.text].length ? [...run.text][column! - run.column]! : run.text;
			const attributes = [
				run.bold && "B",
				run.underline && "U1",
				run.italic && "I",
				run.inverse && "R",
				run.strike && "S",
			].filter(Boolean);
			const [chars, width] = [char === " " ? "" : codes(char), run.width > [...run.text].length ? 2 : 1];
			judge(`${chars} ${width} ${attributes.join("")}`, `${hexes(wanted[1]!)} ${wanted[2]} ${wanted[3]}`);
		}
	}

	#text(row: number, from: number, to: number): string {
		let text = "";
		for (const run of this.#screen.styledRows()[row] ?? []) {
			const chars = run.width === [...run.text].length ? [...run.text] : [run.text];
			chars.forEach((char, i) => {
				if (run.column + i >= from && run.column + i < to) text += char;
			});
		}
		return text.trimEnd();
	}

	#judge(what: string, got: string, want: string): void {
		if (got === want) this.passed++;
		else this.failures.push(`${what}: wanted ${JSON.stringify(want)}, got ${JSON.stringify(got)}`);
	}
}

const hexes = (list: string) =>
	list
		.split(",")
		.filter(Boolean)
		.map((code) => `0x${Number(code).toString(16)}`)
		.join(",")
		.replace(/(,0x20)+$/, "");

const given = process.argv.slice(2).find((argument) => !argument.startsWith("-"));
const temporary = given ? null : mkdtempSync(join(tmpdir(), "outside-suite-"));
const folder = given ?? fetchScripts(temporary!);
let [passed, total] = [0, 0];
for (const file of readdirSync(folder)
	.filter((name) => name.endsWith(".test"))
	.sort()) {
	const run = new Run();
	for (const line of readFileSync(join(folder, file), "latin1").split("\n")) {
		const trimmed = line.trim();
		if (trimmed === "__END__") break;
		if (trimmed !== "" && !trimmed.startsWith("#")) run.line(trimmed);
	}
	run.end();
	const count = run.passed + run.failures.length;
	passed += run.passed;
	total += count;
	if (count > 0) console.log(`${file.padEnd(32)} ${run.passed} of ${count}`);
	if (VERBOSE) for (const failure of run.failures) console.log(`    ${failure}`);
}
console.log(`${passed} of ${total} (${((100 * passed) / total).toFixed(1)} %)`);
if (temporary) rmSync(temporary, { recursive: true });
