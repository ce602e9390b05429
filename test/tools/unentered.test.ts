// What a model is told about text that it typed and did not enter, and about output that came
// between its last answer and what it types.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";

let dialtone: Dialtone;
beforeAll(async () => {
	dialtone = await Dialtone.open({ owner: "model" });
});
afterAll(() => dialtone[Symbol.asyncDispose]());

const patient = { timeoutMs: 60_000 };
const send = async (session: string, input: object) =>
	(await dialtone.client.call<string>("send", { session, ...patient, ...input })).text;

describe("T7 text that was typed and not entered", () => {
	test("T7: it is said, and so is what it is joined to", needing("python3"), async () => {
		const python = await dialtone.start({ command: "python3 -q", name: "py", ...patient });
		expect(await send("py", { text: "1 +" })).toMatch(/^\[py\] .*waiting <<[\s\S]*typed, not entered$/);
		const joined = await send("py", { text: " 41", submit: true });
		expect(joined).toContain("42");
		expect(joined).toContain("joined to 3 characters typed before and not entered");
		expect(joined).not.toContain("typed, not entered");
		expect(await send("py", { text: "2", submit: true })).not.toContain("entered");
		await python.close();
	});

	test("T7: in the terminal's own line, and dropped by Ctrl+U", async () => {
		const cat = await dialtone.start({ command: "cat", name: "cat", ...patient });
		expect(await send("cat", { text: "half" })).toContain("typed, not entered");
		expect(await send("cat", { keys: ["ctrl+u"] })).not.toContain("entered");
		expect(await send("cat", { text: "whole", submit: true })).not.toContain("entered");
		await cat.close();
	});

	test("T7: a key that tmux takes for itself is no text of the shell in it", needing("tmux"), async () => {
		const socket = `dialtone-${process.pid}`;
		const tmux = await dialtone.start({
			command: `tmux -L ${socket} -f /dev/null new bash --norc`,
			name: "tmux",
			...patient,
		});
		expect(await send("tmux", { keys: ["ctrl+b", "%"] })).not.toContain("entered");
		expect(await send("tmux", { text: "echo half" })).toContain("typed, not entered");
		await send("tmux", { keys: ["ctrl+u"] });
		await send("tmux", { text: `tmux -L ${socket} kill-server`, submit: true });
		await tmux.close({ force: true });
	});

	test("T7: a full-screen program takes keys, and nothing stands there", needing("less"), async () => {
		const less = await dialtone.start({ command: "seq 1 1000 | less", name: "less", ...patient });
		expect(await send("less", { text: "G" })).not.toContain("entered");
		expect(await send("less", { text: "g" })).not.toContain("joined");
		await less.close();
	});
});

describe("T9 nothing is typed where the program has printed since", () => {
	test("T9: `ifUnchanged` needs no number", async () => {
		const cat = await dialtone.start({ command: "cat", name: "seen", ...patient });
		expect(await send("seen", { text: "one", submit: true, ifUnchanged: true })).toContain("one");
		const other = { owner: "other", cwd: "/", env: {} };
		const input = { session: "seen", text: "two", submit: true, ...patient };
		await dialtone.client.call("send", input, { caller: other });
		const refused = send("seen", { text: "three", submit: true, ifUnchanged: true });
		await expect(refused).rejects.toMatchObject({ code: "screen_moved" });
		const { text } = await dialtone.client.call("read", { session: "seen", view: "screen" });
		expect(text).toContain("two");
		expect(text).not.toContain("three");
		expect(await send("seen", { text: "four", submit: true, ifUnchanged: true })).toContain("four");
		await cat.close();
	});
});
