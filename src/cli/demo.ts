// A conversation with real programs, played on the reader's own terminal: for each
// turn what was sent, the output, why the call returned and after how long.
// Nothing is faked: the turns are the same tool calls an agent makes.

import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { styleText } from "node:util";
import type { SessionFacts } from "../protocol/answer.ts";
import type { InputOf } from "../tools/catalogue.ts";
import type { Answer, Client } from "../tools/client.ts";
import { doing } from "../tools/header.ts";
import type { Invocation, Io } from "./command.ts";
import { EXIT } from "./exit-codes.ts";

interface DemoStep {
	/** What the step does, for the reader. */
	readonly note: string;
	readonly input: Omit<InputOf<"send">, "session">;
	/** What is shown: the words sent, as the reader would type them. */
	readonly shown: string;
}

interface Scene {
	readonly title: string;
	/** Skipped where the program is missing. */
	readonly program: string;
	readonly start: InputOf<"start"> & { readonly argv: string[] };
	readonly turns: readonly DemoStep[];
}

const line = (text: string, note: string): DemoStep => ({
	note,
	shown: `${text} ⏎`,
	input: { text, submit: true },
});
const keys = (note: string, ...names: string[]): DemoStep => ({
	note,
	shown: names.join(" "),
	input: { keys: names },
});

const SURVEY = `
read -p "Delete the old build? [y/N] " answer
[ "$answer" = y ] && echo "deleted" || echo "kept"
read -s -p "Password: " password; echo
echo "\${#password} characters, never shown"
`;

function scenes(dir: string): readonly Scene[] {
	return [
		{
			title: "A REPL: one call is one turn",
			program: "python3",
			start: { argv: ["python3", "-q"], name: "demo-python" },
			turns: [
				line("sum(range(101))", "ask something"),
				line("import time; time.sleep(0.5); print('done')", "something slow: the call returns when it is done"),
				line("input('your name? ')", "the program asks back"),
				line("Ada", "answer it"),
				keys("quit", "ctrl+d"),
			],
		},
		{
			title: "Questions: yes or no, and a password",
			program: "bash",
			start: { argv: ["bash", join(dir, "survey.sh")], name: "demo-survey" },
			turns: [
				line("y", "a y/n prompt without a line end: still known to be a question"),
				line("correct horse", "echo is off, so this is a secret; none of it is echoed"),
			],
		},
		{
			title: "A database console",
			program: "sqlite3",
			start: { argv: ["sqlite3", join(dir, "demo.db")], name: "demo-sqlite" },
			turns: [
				line("create table t(x); insert into t values (1),(2),(3);", "no output, and still known to be ready"),
				line("select sum(x) from t", "an unfinished statement: it asks for more"),
				line(";", "finish it"),
				line(".quit", "leave"),
			],
		},
		{
			title: "A debugger",
			program: "gdb",
			start: { argv: ["gdb", "-q", "-nx", "--args", "sleep", "60"], name: "demo-gdb" },
			turns: [
				line("print 6 * 7", "ask the debugger"),
				line("info line", "an error is an answer, too"),
				line("quit", "quit"),
			],
		},
		{
			title: "Full screen: the screen, and then only what changed",
			program: "less",
			start: { argv: ["less", join(dir, "poem.txt")], name: "demo-less", rows: 12 },
			turns: [
				keys("a page down", "space"),
				{ note: "search", shown: "/three ⏎", input: { text: "/three", submit: true } },
				keys("quit", "q"),
			],
		},
	];
}

export async function demo(invocation: Invocation): Promise<number> {
	const { io } = invocation;
	const stage = new Stage(io, invocation.flags.on("fast") || !io.stdout.isTTY);
	const dir = mkdtempSync(join(tmpdir(), "dialtone-demo-"));
	try {
		writeFileSync(join(dir, "survey.sh"), SURVEY);
		const poem = Array.from({ length: 60 }, (_, n) => `line ${n + 1}: ${["one", "two", "three"][n % 3]}`);
		writeFileSync(join(dir, "poem.txt"), `${poem.join("\n")}\n`);
		await using client = await invocation.dependencies.connect();
		stage.opening();
		for (const scene of scenes(dir)) {
			if (!onPath(scene.program, io)) stage.leftOut(scene);
			else await play(scene, client, stage);
		}
		stage.closing();
	} finally {
		rmSync(dir, { recursive: true, force: true });
	}
	return EXIT.ok;
}

async function play(scene: Scene, client: Client, stage: Stage): Promise<void> {
	stage.title(scene.title);
	const command = scene.start.argv.map((word) => word.split("/").at(-1)).join(" ");
	let facts = await stage.turn("start", command, "start it", () =>
		client.call("start", { cols: 80, rows: 24, timeoutMs: 10_000, ...scene.start, ifExists: "replace" }),
	);
	const { session } = facts;
	try {
		for (const { note, input, shown } of scene.turns) {
			if (facts.exit !== null) break;
			facts = await stage.turn("send", shown, note, () =>
				client.call("send", { session, timeoutMs: 10_000, ...input }),
			);
		}
	} finally {
		await client.call("close", { session, force: true, forget: true });
	}
}

/** What the reader sees. */
class Stage {
	readonly #io: Io;
	readonly #fast: boolean;
	readonly #colour: boolean;
	#turns = 0;
	#totalMs = 0;

	constructor(io: Io, fast: boolean) {
		this.#io = io;
		this.#fast = fast;
		this.#colour = io.stdout.isTTY === true && !io.env.NO_COLOR;
	}

	#styled(style: Parameters<typeof styleText>[0], text: string): string {
		return this.#colour ? styleText(style, text) : text;
	}

	opening(): void {
		this.#io.out(
			`${this.#styled("bold", "Dialtone: a conversation with real programs")}\n` +
				"» what the agent sends     the output as it reads it     « why the call returned\n",
		);
	}

	title(title: string): void {
		this.#io.out(`\n${this.#styled(["bold", "cyan"], `── ${title} `.padEnd(72, "─"))}\n`);
	}

	leftOut({ title, program }: Scene): void {
		this.#io.out(`\n${this.#styled("dim", `── ${title}: skipped, ${program} is not installed`)}\n`);
	}

	async turn(
		tool: string,
		shown: string,
		note: string,
		act: () => Promise<Answer<SessionFacts>>,
	): Promise<SessionFacts> {
		this.#io.out(`\n${this.#styled("green", `» ${tool} ${shown}`)}${this.#styled("dim", `   ${note}`)}\n`);
		await this.#pause(600);
		const before = performance.now();
		const { facts } = await act();
		const ms = performance.now() - before;
		this.#turns++;
		this.#totalMs += ms;
		if (facts.text !== "") for (const row of facts.text.split("\n")) this.#io.out(`  ${row}\n`);
		this.#io.out(`${this.#styled("yellow", `« ${outcome(facts)}`)} · ${ms.toFixed(0)} ms · ${facts.because}\n`);
		await this.#pause(1200);
		return facts;
	}

	closing(): void {
		this.#io.out(
			`\n${this.#styled("bold", `${this.#turns} turns, ${this.#turns} calls`)}: no sleep, no poll, no pattern; ` +
				`${(this.#totalMs / 1000).toFixed(1)} s in calls, start-up of the programs included.\n` +
				"Your turn: dialtone start --name py python3\n",
		);
	}

	/** For the reader's eyes, not for the programs. */
	async #pause(ms: number): Promise<void> {
		if (!this.#fast) await setTimeout(ms);
	}
}

function outcome(facts: SessionFacts): string {
	if (facts.exit !== null) return `ended, ${facts.exit.signal ?? `exit code ${facts.exit.code}`}`;
	if (facts.returned === "waiting") return `${doing({ ...facts, certainty: "certain" })} (${facts.certainty})`;
	return facts.returned;
}

function onPath(program: string, io: Io): boolean {
	return (io.env.PATH ?? "").split(delimiter).some((dir) => {
		try {
			accessSync(join(dir, program), constants.X_OK);
			return true;
		} catch {
			return false; // not in this directory
		}
	});
}
