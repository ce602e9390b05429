import { chmod, mkdir, mkdtemp, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { places, preparePlaces } from "./places.ts";

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

	test("otherwise the XDG directories, with their defaults", () => {
		expect(places({ XDG_STATE_HOME: "/s", XDG_RUNTIME_DIR: home })).toMatchObject({
			state: "/s/dialtone",
			run: join(home, "dialtone"),
		});
		expect(places({ HOME: "/home/me" })).toMatchObject({
			state: "/home/me/.local/state/dialtone",
			run: `/tmp/dialtone-${process.getuid?.()}`,
		});
	});

	test("a runtime directory that is not there or not ours is not used", () => {
		expect(places({ XDG_RUNTIME_DIR: join(home, "gone") }).run).toBe(`/tmp/dialtone-${process.getuid?.()}`);
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

describe("the directories are ours and only ours", () => {
	test("made 0700, and reset to it when the mode was changed", async () => {
		const where = places({ DIALTONE_HOME: join(home, "new") });
		await preparePlaces(where);
		await chmod(where.run, 0o777);
		await preparePlaces(where);
		for (const path of [where.state, where.run]) expect((await stat(path)).mode & 0o777).toBe(0o700);
	});

	test("a symbolic link in their place is refused", async () => {
		await mkdir(join(home, "elsewhere"));
		await mkdir(join(home, "d"));
		await symlink(join(home, "elsewhere"), join(home, "d", "run"));
		await expect(preparePlaces(places({ DIALTONE_HOME: join(home, "d") }))).rejects.toThrow("is not a directory");
	});
});
