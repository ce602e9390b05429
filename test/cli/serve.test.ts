// `npm start` as a person sees it, at a terminal of their own.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import { needing } from "../programs.ts";
import { CommandLine, MAIN } from "./command-line.ts";

let line: CommandLine;
let desk: Dialtone;
beforeAll(async () => {
	line = new CommandLine();
	desk = await Dialtone.open();
});
afterAll(async () => {
	await desk[Symbol.asyncDispose]();
	await line[Symbol.asyncDispose]();
});

const start = async (name: string, port: string) =>
	(
		await desk.client.call("start", {
			argv: [process.execPath, MAIN, "serve", "--foreground", "--port", port],
			name,
			env: line.env,
			cols: 200,
			until: { text: "Ctrl+C", only: true },
		})
	).facts as SessionFacts;

describe("npm start", () => {
	test(
		"prints where it listens, how to log in, what to paste and what to try; Ctrl+C lists what keeps running",
		needing("python3"),
		async () => {
			const { text } = await start("serve", "0");
			const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)![0];
			const token = /dt_[\w-]+/.exec(text)![0];
			expect(text).toContain("mcpServers");
			expect(text.replaceAll("\n", "")).toContain('"mcp"], "env": { "DIALTONE_HOME": "');
			expect(text.split("\n").length).toBeLessThan(30);
			const get = (bearer: string) => fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${bearer}` } });
			expect((await get(token)).status).toBe(200);
			expect((await get("dt_wrong")).status).toBe(401);
			// What it says to try works as it stands.
			expect((await line.run(["start", "--name", "py", "python3", "-q"])).out).toContain(">>> ");
			expect((await line.json(["daemon", "status"])).http).toBe(url);
			const ended = (await desk.client.call("send", { session: "serve", keys: ["ctrl+c"] })).facts as SessionFacts;
			expect(ended.text).toMatch(/keep running: py/);
			expect(ended.exit).toEqual({ code: 0, signal: null });
			expect((await line.run(["send", "py", "6*7"])).out).toContain("42");
		},
	);

	test("a port that is taken is a clear error", async () => {
		await start("first", "0");
		const taken = new URL(String((await line.json(["daemon", "status"])).http)).port;
		const other = new CommandLine();
		const { code, err } = await other.run(["serve", "--foreground", "--port", taken]);
		expect(code).toBeGreaterThan(0);
		expect(err).toContain(taken);
		expect(err).toContain("--port");
		await other[Symbol.asyncDispose]();
		await desk.client.call("close", { session: "first" });
	});
});
