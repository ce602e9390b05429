// A write with an id is typed once for its owner, and a repeat says that it was one.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";

const ALREADY = "already typed: this id was sent before, nothing was typed again";
const as = (owner: string) => ({ caller: { owner, cwd: "/", env: {} } });

describe("S5: write ids", () => {
	let home: string;
	let dialtone: Dialtone;
	beforeAll(async () => {
		home = mkdtempSync(join(tmpdir(), "dt-ids-"));
		dialtone = await Dialtone.open({ home });
	});
	afterAll(async () => {
		const { sessions } = await dialtone.list({ status: "running" });
		for (const { session } of sessions) await dialtone.client.call("close", { session, force: true });
		await dialtone[Symbol.asyncDispose]();
		rmSync(home, { recursive: true, force: true });
	});

	/** Lines that `cat` has given back. */
	async function answers(session: string): Promise<readonly string[]> {
		const { facts } = await dialtone.client.call("read", { session, view: "lines" }, as("reader"));
		return facts.text.split("\n").filter((line) => line !== "");
	}

	/** Types a line into `cat`; returns when it has come back, or for a repeat at once. */
	async function send(owner: string, session: string, text: string, more: { id: string; ifOffset?: number }) {
		const until = { text: `${text}\n${text}` };
		return dialtone.client.call("send", { session, text, submit: true, until, ...more }, as(owner));
	}

	test("two agents that both call their write 1 are both received", async () => {
		await dialtone.start({ argv: ["cat"], name: "shared" });
		const first = await send("one", "shared", "from one", { id: "1" });
		const second = await send("two", "shared", "from two", { id: "1" });
		expect(first.facts.repeated).toBeUndefined();
		expect(second.facts.repeated).toBeUndefined();
		expect(await answers("shared")).toEqual(["from one", "from one", "from two", "from two"]);
	});

	test("the same id in another session is another write", async () => {
		await dialtone.start({ argv: ["cat"], name: "left" });
		await dialtone.start({ argv: ["cat"], name: "right" });
		await send("one", "left", "x", { id: "same" });
		await send("one", "right", "y", { id: "same" });
		expect(await answers("right")).toEqual(["y", "y"]);
	});

	test("a repeat types nothing and says so, in facts and in words; also when two arrive at once", async () => {
		await dialtone.start({ argv: ["cat"], name: "twice" });
		const both = await Promise.all([1, 2].map(() => send("one", "twice", "hello", { id: "a" })));
		expect(both.filter(({ facts }) => facts.repeated === true)).toHaveLength(1);
		const again = await send("one", "twice", "hello", { id: "a" });
		expect(again.facts.repeated).toBe(true);
		expect(again.text.split("\n").at(-1)).toContain(ALREADY);
		expect(await answers("twice")).toEqual(["hello", "hello"]);
	});

	test("a repeat is not refused for the output that the write itself caused", async () => {
		const { facts } = await dialtone.start({ argv: ["cat"], name: "moved" });
		const write = { id: "b", ifOffset: facts.offset };
		await send("one", "moved", "hello", write);
		expect((await send("one", "moved", "hello", write)).facts.repeated).toBe(true);
	});

	test("a repeat is known as one after a restart", async () => {
		await dialtone.start({ argv: ["cat"], name: "lasting" });
		await send("one", "lasting", "hello", { id: "c" });
		await dialtone[Symbol.asyncDispose]();
		dialtone = await Dialtone.open({ home });
		const again = await send("one", "lasting", "hello", { id: "c" });
		expect(again.facts.repeated).toBe(true);
		expect(again.text).toContain(ALREADY);
		expect((await send("one", "lasting", "more", { id: "d" })).facts.repeated).toBeUndefined();
		expect(await answers("lasting")).toEqual(["hello", "hello", "more", "more"]);
	});
});
