// T10: the mistakes that models make, and what they are told. The table is a file for people to
// read: mistakes.golden.md. `UPDATE_GOLDEN=1 npx vitest run test/tools/mistakes.test.ts` writes it
// anew; read every line of the difference as the model that made the mistake.

import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { acceptInput } from "../../src/tools/accept-input.ts";
import { findTool } from "../../src/tools/catalogue.ts";
import type { Caller } from "../../src/tools/tool.ts";
import { needing } from "../programs.ts";
import { mistakes } from "./mistakes.ts";

const GOLDEN = new URL("mistakes.golden.md", import.meta.url);
const HOME = process.env.HOME!;
const CALLER: Caller = {
	owner: "agent",
	cwd: "/tmp",
	env: { ...process.env, HOME, SHELL: "/bin/bash" } as Caller["env"],
};

let dialtone: Dialtone;

const call = (tool: string, input: unknown) => dialtone.client.call(tool, input, { caller: CALLER });

async function prepare(): Promise<void> {
	await call("start", { argv: ["python3", "-q"], name: "py" });
	await call("run", { command: "read answer", shell: "busy" });
	await call("start", { command: "true", name: "build" });
}

interface Row {
	readonly group: string;
	readonly input: string;
	readonly told: string;
	readonly done: string;
}

/** Who is there, and how much Python echoed and said: nothing of it changes on a fault. */
async function world(): Promise<unknown> {
	const { sessions } = (await dialtone.client.call("list", {}, { caller: CALLER })).facts;
	// A program that could not be started leaves a record with the reason (R4.5); a shell prints its prompt when it likes.
	const started = sessions.filter(({ pid }) => pid !== null);
	return started.map(({ name, offset, status }) => [name, status, name === "py" ? offset : null]);
}

async function play(group: string, tool: string, input: unknown): Promise<Row> {
	const shown = `${tool} ${JSON.stringify(input)}`;
	const before = await world();
	try {
		const { facts, text, refused } = await call(tool, input);
		if (refused !== undefined) {
			expect(await world(), shown).toEqual(before);
			return { group, input: shown, told: text, done: "nothing" };
		}
		const known = findTool(tool)!;
		const { notices = [] } = facts as { readonly notices?: readonly string[] };
		const meant = JSON.stringify(withoutDefaults(known.input.shape, acceptInput(known, input, CALLER).input));
		return {
			group,
			input: shown,
			told: [`accepted as ${meant}`, ...notices].join("; "),
			done: known.effect === "reads" ? "read" : "yes",
		};
	} catch (error) {
		if (!(error instanceof Fault)) throw error;
		expect(await world(), shown).toEqual(before);
		return { group, input: shown, told: `${error.message} ${error.next}`, done: "nothing" };
	}
}

/** What the call said, not what every call says. */
function withoutDefaults(
	shape: Readonly<Record<string, { safeParse(value: unknown): { data?: unknown } }>>,
	input: object,
) {
	return Object.fromEntries(
		Object.entries(input).filter(([name, value]) => shape[name]?.safeParse(undefined).data !== value),
	);
}

const cell = (text: string) =>
	text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("`", "\\`").replaceAll("<", "&lt;");

function page(rows: readonly Row[]): string {
	const groups = [...new Set(rows.map(({ group }) => group))];
	const tables = groups.map((group) => {
		const lines = rows
			.filter((row) => row.group === group)
			.map(({ input, told, done }) => `| ${cell(input)} | ${cell(told)} | ${done} |`);
		return [`## ${group}`, "", "| call | what the model is told | done |", "| --- | --- | --- |", ...lines, ""].join(
			"\n",
		);
	});
	return [
		"# Mistakes, and what the model is told",
		"",
		"Written by `test/tools/mistakes.test.ts`, which compares it. There is a Python in `py`, a shell `busy` with a command that waits, and `build`, which has ended.",
		"",
		...tables,
	].join("\n");
}

test(
	"T10: typical mistakes are accepted where the meaning is certain, and otherwise told so that the next try is right",
	needing("python3"),
	async () => {
		await using opened = await Dialtone.open();
		dialtone = opened;
		await prepare();
		const rows: Row[] = [];
		for (const [group, calls] of Object.entries(mistakes))
			for (const [tool, input] of calls) rows.push(await play(group, tool, input));
		expect(rows.length).toBeGreaterThanOrEqual(60);
		const written = page(rows)
			.replaceAll(`${HOME}/no`, "/home/me/no")
			.replaceAll(`"${HOME}"`, '"/home/me"')
			.replaceAll(/\b[0-9a-z]{26}\b/g, (id) => (/\d/.test(id) ? "…id…" : id));
		if (process.env.UPDATE_GOLDEN === "1") await writeFile(GOLDEN, written);
		expect(written).toBe(await readFile(GOLDEN, "utf8"));
	},
);
