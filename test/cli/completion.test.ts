// Completion as a person has it: the Tab key, in the real shells.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import { named, skipWithout } from "../programs.ts";
import { CommandLine } from "./command-line.ts";

let line: CommandLine;
let desk: Dialtone;

beforeAll(async () => {
	line = new CommandLine();
	desk = await Dialtone.open();
	await line.run(["start", "--name", "runs", "cat"]);
	await line.run(["start", "--name", "ran", "true"]);
});
afterAll(async () => {
	await desk[Symbol.asyncDispose]();
	await line[Symbol.asyncDispose]();
});

/** How each shell starts without anybody's files, and loads a script. */
const SHELLS = {
	bash: { argv: ["bash", "--norc"], load: (file: string) => `source ${file}` },
	zsh: { argv: ["zsh", "-f"], load: (file: string) => `autoload -Uz compinit; compinit -D; source ${file}` },
	fish: { argv: ["fish", "--no-config"], load: (file: string) => `source ${file}` },
} as const;
type Shell = keyof typeof SHELLS;

let shells = 0;

async function typist(shell: Shell, script: string) {
	const file = join(line.home, `completion-${++shells}`);
	writeFileSync(file, script);
	const session = `${shell}${shells}`;
	const call = async (tool: string, input: object) =>
		(await desk.client.call(tool, { session, ...input })).facts as SessionFacts;
	await desk.client.call("start", {
		argv: [...SHELLS[shell].argv],
		name: session,
		env: { ...line.env, TERM: "xterm" },
	});
	await call("send", { text: `${SHELLS[shell].load(file)}; echo "loaded"; clear`, submit: true });
	return {
		/** Types, presses Tab, and waits until the line is this; then clears it. */
		tab: async (text: string, line: string) => {
			await call("send", { text, keys: ["tab"], until: { stillMs: 50 } });
			await expect.poll(async () => (await call("read", { view: "screen" })).text, { timeout: 20_000 }).toContain(line);
			await call("send", { keys: ["ctrl+u"], until: { stillMs: 50 } });
		},
		/** The same in a shell that shows nothing: it has had its turn when the next line is entered. */
		idleTab: async (text: string) => {
			await call("send", { text, keys: ["tab", "tab"], until: { stillMs: 200 } });
			await call("send", { keys: ["ctrl+u"], until: { stillMs: 50 } });
			await call("send", { text: 'echo do""ne', submit: true, until: { text: "done", only: true } });
		},
	};
}

describe.for(Object.keys(SHELLS) as Shell[])("completion in %s", (shell) => {
	test("verbs, flags, values and sessions are completed", async (context) => {
		skipWithout(context, ...named([shell]));
		const { tab } = await typist(shell, (await line.run(["completion", shell])).out);
		await tab("dialtone compl", "dialtone completion");
		await tab("dialtone read runs --sea", "--search");
		await tab("dialtone start --if-exists rep", "--if-exists replace");
		// `attach` offers only what runs, so two letters that two names share are enough.
		await tab("dialtone attach r", "attach runs");
		await tab("dialtone rm r", "rm ran");
	});

	test("G17: a name that is code for a shell is not run, whatever it is offered", async (context) => {
		skipWithout(context, ...named([shell]));
		const touched = join(line.home, `touched-by-${shell}`);
		const asked = join(line.home, `asked-by-${shell}`);
		const hostile = [
			`$(touch ${touched})`,
			`\`touch ${touched}\``,
			`;touch ${touched};`,
			`'$(touch ${touched})`,
			"$((",
		];
		const answers = join(line.home, `answers-${shell}`);
		writeFileSync(answers, `words\n${hostile.map((name) => `${name}\t${name}\n`).join("")}`);
		const { out } = await line.run(["completion", shell]);
		const ask = /'[^']+'(?: '[^']+')* '__complete' '--'/.exec(out)![0];
		const { idleTab } = await typist(shell, out.replace(ask, `sh -c 'cat ${answers}; touch ${asked}' --`));
		await idleTab("dialtone attach ");
		await idleTab("dialtone attach $");
		expect(existsSync(asked)).toBe(true);
		expect(existsSync(touched)).toBe(false);
	});
});

test("G17: the name of a planted record is not offered", async () => {
	const alone = new CommandLine();
	await alone.run(["start", "--name", "planted", "true"]);
	await alone.run(["daemon", "stop"]);
	const sessions = join(alone.home, "sessions");
	let planted = 0;
	for (const path of readdirSync(sessions, { recursive: true, encoding: "utf8" })) {
		if (!/json$|jsonl$/.test(path)) continue;
		const text = readFileSync(join(sessions, path), "utf8");
		writeFileSync(join(sessions, path), text.replaceAll('"planted"', '"$(touch planted)"'));
		if (text.includes('"planted"')) planted++;
	}
	expect(planted).toBeGreaterThan(0);
	expect(await alone.run(["__complete", "--", "read", ""])).toEqual({ code: 0, out: "words\n", err: "" });
	// The daemon runs again, with that record.
	expect((await alone.run(["ls", "-a", "--json"])).out).toContain("touch planted");
	expect(await alone.run(["__complete", "--", "read", ""])).toEqual({ code: 0, out: "words\n", err: "" });
	await alone[Symbol.asyncDispose]();
});
