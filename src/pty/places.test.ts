import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { places } from "./places.ts";

let home: string;
beforeEach(async () => {
	home = await mkdtemp(join(tmpdir(), "dt-places-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const id = "0123456789abcdefghjkmnpqrs";
const bytes = (path: string) => Buffer.byteLength(path);

describe("where things are", () => {
	test("DIALTONE_HOME puts all under one directory", () => {
		const { state, run, sessions, socketFor } = places({ DIALTONE_HOME: home });
		expect([state, run, sessions]).toEqual([home, join(home, "run"), join(home, "sessions")]);
		expect(socketFor(id)).toBe(join(home, "run", `${id}.sock`));
	});

	test("H2 otherwise below the state directory, also what runs: a runtime directory ends with the login", () => {
		expect(places({ XDG_STATE_HOME: "/s", XDG_RUNTIME_DIR: home })).toMatchObject({
			state: "/s/dialtone",
			run: "/s/dialtone/run",
		});
		expect(places({ HOME: "/home/me" })).toMatchObject({
			state: "/home/me/.local/state/dialtone",
			run: "/home/me/.local/state/dialtone/run",
		});
	});

	test("a socket path always fits into a socket address, and differs for every home and session", () => {
		const deep = join(home, "d".repeat(120));
		const paths = [deep, `${deep}x`].flatMap((at) =>
			[id, "other", "n".repeat(90)].map((it) => places({ DIALTONE_HOME: at }).socketFor(it)),
		);
		expect(Math.max(...paths.map(bytes))).toBeLessThanOrEqual(104);
		expect(new Set(paths).size).toBe(paths.length);
	});
});
