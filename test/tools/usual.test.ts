// What a call gets that leaves `maxTokens` and `timeoutMs` out: what the options say, and of very much output an excerpt.

import { describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { estimateTokens as tokens } from "../../src/terminal/budget.ts";

const MARK = /^\[… lines (\d+)–(\d+) of (\d+) left out: read (\{.*\}) …\]$/m;

describe("T3 T11 much output", () => {
	/** What is shown of so many lines of ten characters. */
	async function shown(lines: number, more: object = {}, options = {}) {
		await using dialtone = await Dialtone.open({ owner: "usual", options });
		const command = `seq -f 'line %04.0f' 1 ${lines}`;
		const { text } = (await dialtone.client.call("run", { command, ...more })).facts;
		const [, from, to, total, call] = MARK.exec(text) ?? [];
		const missing = call === undefined ? null : (await dialtone.client.call("read", JSON.parse(call))).facts.text;
		return {
			text,
			missing,
			cut: call === undefined ? null : { from: Number(from), to: Number(to), total: Number(total) },
		};
	}

	test("up to the usual budget is whole; up to four times it, its beginning and its end fill the budget", async () => {
		expect(await shown(750)).toMatchObject({ cut: null });
		const { text, cut } = await shown(3000);
		expect(tokens(text)).toBeGreaterThan(3800);
		expect(tokens(text)).toBeLessThanOrEqual(4000);
		expect(cut?.to).toBeLessThan(2600);
	});

	test("of more, a few lines of its beginning and more of its end, and the cut leads to the rest", async () => {
		const { text, cut, missing } = await shown(5000);
		expect(tokens(text)).toBeGreaterThan(900);
		expect(tokens(text)).toBeLessThanOrEqual(1000);
		const numbers = (part: string) => [...part.matchAll(/^line (\d+)$/gm)].map(([, number]) => Number(number));
		const [head, tail] = text.split(MARK.exec(text)![0]).map(numbers) as [number[], number[]];
		expect([head[0], tail.at(-1), head.length + tail.length + cut!.to - cut!.from + 1]).toEqual([1, 5000, 5000]);
		expect(tail.length).toBeGreaterThan(4 * head.length);
		expect(tokens(missing!)).toBeGreaterThan(3800);
		expect(numbers(missing!)[0]).toBe(head.length + 1);
	});

	test("a call that says how much gets that much, and the option another excerpt", async () => {
		expect(tokens((await shown(5000, { maxTokens: 4000 })).text)).toBeGreaterThan(3800);
		expect(await shown(5000, { maxTokens: 50_000 })).toMatchObject({ cut: null });
		expect(tokens((await shown(5000, {}, { excerptTokens: 300 })).text)).toBeLessThanOrEqual(300);
	});

	test.each([
		["numbers", "seq 5000"],
		["base64", "seq 5000 | base64"],
		["one line of base64", "seq 5000 | sha256sum | base64; seq 9000 | gzip -c | base64 -w0"],
		["Japanese", "for i in $(seq 300); do echo 吾輩は猫である。名前はまだ無い。$i; done"],
		["emoji", "for i in $(seq 300); do echo 🦀🚀🎉; done"],
	])("a maximum is one, whatever the text is made of: %s", async (_, command) => {
		await using dialtone = await Dialtone.open({ owner: "usual" });
		const call = async (tool: string, input: object) =>
			(await dialtone.client.call(tool, { maxTokens: 1000, ...input })).facts as { text: string };
		const session = "main";
		for (const { text } of [
			await call("run", { command }),
			await call("read", { session, lines: 5000 }),
			await call("read", { session, from: 1, lines: 5000 }),
			await call("read", { session, pattern: ".", lines: 5000 }),
			await call("read", { session, view: "screen" }),
		])
			expect(tokens(text)).toBeLessThanOrEqual(1100);
	});

	test("the option `maxTokens` is what a call gets that says nothing, also where one line is longer", async () => {
		await using dialtone = await Dialtone.open({ owner: "usual", options: { maxTokens: 200 } });
		const { text } = (await dialtone.client.call("run", { command: "printf 'x%.0s' $(seq 1000); echo" })).facts;
		expect(tokens(text)).toBeLessThanOrEqual(200 + 50);
		const mark = /\[… \d+ more characters? of line \d+ left out: read (\{.*\}) …\]$/m;
		let line = text.trimEnd();
		for (let cut = mark.exec(line); cut !== null; cut = mark.exec(line)) {
			const { facts } = await dialtone.client.call("read", JSON.parse(cut[1]!));
			line = line.slice(0, cut.index) + facts.text.trimEnd();
		}
		expect(line).toBe("x".repeat(1000));
	});
});

test("the option `timeoutMs` is how long a call waits that says nothing, where the tool has no time of its own", async () => {
	await using dialtone = await Dialtone.open({ owner: "usual", options: { timeoutMs: 300 } });
	const started = (await dialtone.client.call("start", { command: "exec sleep 600", name: "s" })).facts;
	expect(started).toMatchObject({ returned: "timeout", status: "running" });
	expect(started.elapsedMs).toBeLessThan(20_000);
	const { facts } = await dialtone.client.call("run", { command: "sleep 600" });
	expect(facts).toMatchObject({ timedOut: true });
});
