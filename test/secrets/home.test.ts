// R4.9: named secrets through the command line and the daemon's process: where a value may come from, and that it stays nowhere.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { SessionFacts } from "../../src/protocol/answer.ts";
import { places } from "../../src/pty/places.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";

const VALUE = "from-the-Env1ronment";
let home: Home;
afterEach(() => home[Symbol.asyncDispose]());

function withPolicy(secrets: object): Home {
	home = new Home({ MY_DB_LOGIN: VALUE });
	const { state } = places(home.env);
	mkdirSync(state, { recursive: true, mode: 0o700 });
	writeFileSync(join(state, "policy.json"), JSON.stringify({ secrets }), { mode: 0o600 });
	return home;
}

const filesWith = (value: string) =>
	readdirSync(home.path, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.filter((path) => readFileSync(path).includes(value));

const ASKS = `
import getpass, os
p = getpass.getpass("Password: ")
print("length", len(p), "inherited", "MY_DB_LOGIN" in os.environ, flush=True)
print("it is " + p, flush=True)
input("next> ")
`;

/** Puts it together on the screen: its second half first. */
const DRAWS = `
read -s -p 'Password: ' x
printf '\\033[2J\\033[5;7H%s\\033[5;1H%s\\033[8;1H' "\${x:6}" "\${x:0:6}"
read -p 'done? ' y
`;

describe("R4.9 a secret that only a drawn screen has in one piece", () => {
	test("is stars in what the command line draws of the recording", async () => {
		withPolicy({ db: { from: { env: "MY_DB_LOGIN" } } });
		await home.cli("start", "--name", "sp", "--", "bash", "-c", DRAWS);
		const sent = await home.cli("send", "sp", "--secret", "db", "--submit", "-u", "done?");
		expect(sent.stdout).toContain("done?");
		const collect = async () => {
			for (const args of [
				["screen", "sp"],
				["export", "sp", "-f", "text"],
				["export", "sp", "-f", "text", "--at", "1000s"],
				["export", "sp", "-f", "svg"],
				["replay", "sp", "--at", "1000s"],
				["replay", "sp", "--at", "1000s", "--json"],
			]) {
				const { stdout, code } = await home.cli(...args);
				const text = stdout.replace(/<[^>]*>|\s/g, ""); // a picture may have each half in an element of its own
				const shown = { code, stars: text.includes("*".repeat(VALUE.length)), value: text.includes(VALUE.slice(6)) };
				expect([args, shown]).toEqual([args, { code: 0, stars: true, value: false }]);
			}
			const picture = join(home.path, "sp.png");
			expect((await home.cli("export", "sp", "-f", "png", "-o", picture)).code).toBe(0);
			expect(readFileSync(picture).subarray(1, 4).toString()).toBe("PNG");
		};
		await collect();
		await home.cli("send", "sp", "x", "--submit");
		await collect();
	});
});

describe("R4.9 a secret of the environment", needing("python3"), () => {
	test("is typed by the command line's --secret, and is in no environment, export, log or file", async () => {
		withPolicy({ db: { from: { env: "MY_DB_LOGIN" }, description: "the database" } });
		const client = await home.connect();
		await client.call("start", { name: "py", argv: ["python3", "-c", ASKS] });
		const { pid } = await client.status();
		expect(readFileSync(`/proc/${pid}/environ`).includes(VALUE)).toBe(false);
		const { session } = (await client.call("read", { session: "py", view: "screen" })).facts as SessionFacts;
		await client.call("wait", { session, timeoutMs: 20_000 });
		const sent = await home.cli("send", session, "--secret", "db");
		expect(sent.code).toBe(0);
		expect(sent.stdout).toContain(`length ${VALUE.length} inherited False`);
		expect(sent.stdout).toContain(`it is ${"*".repeat(VALUE.length)}`);
		await client.stop({ sessions: false });
		for (const args of [
			["logs", session],
			["read", session, "--view", "lines", "--from", "1"],
			["export", session, "-f", "cast"],
			["export", session, "-f", "cast2"],
			["export", session, "-f", "text"],
			["export", session, "-f", "svg"],
			["events", "--help"],
		]) {
			const { stdout, code } = await home.cli(...args);
			expect(code).toBe(0);
			expect(stdout).not.toContain(VALUE);
		}
		expect((await home.cli("logs", session)).stdout).toContain(`it is ${"*".repeat(VALUE.length)}`);
		expect(filesWith(VALUE)).toEqual([]);
	});

	test("`secrets` lists names, never values, and `secrets test` says whether one can be read", async () => {
		withPolicy({ db: { from: { env: "MY_DB_LOGIN" }, owners: ["cli"] }, gone: { from: { file: "/nonexistent/x" } } });
		const listed = await home.cli("secrets");
		expect(listed.stdout).toMatch(/db +variable MY_DB_LOGIN +cli +any that asks/);
		expect(listed.stdout).not.toContain(VALUE);
		expect(await home.cli("secrets", "test", "db")).toEqual({ stdout: "db can be read.\n", code: 0 });
		expect((await home.cli("secrets", "test", "gone")).code).not.toBe(0);
		expect((await home.cli("secrets", "test", "unknown")).code).not.toBe(0);
	});
});
