import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { needing } from "../../test/programs.ts";
import { checkPrivate, homeFault, makePrivate } from "./private-directory.ts";

const NOBODY = 65534;

let home: string;
beforeEach(async () => {
	home = await mkdtemp(join(tmpdir(), "dt-private-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const at = (...names: string[]) => join(home, ...names);

/** A directory with exactly this mode. */
async function directory(path: string, mode = 0o700): Promise<string> {
	await mkdir(path, { recursive: true });
	await chmod(path, mode);
	return path;
}

/** How the check refuses it, and so does the making. */
const refusal = (path: string) => {
	expect(() => makePrivate(path)).toThrow();
	try {
		checkPrivate(path);
	} catch (error) {
		return error;
	}
};

describe("G1 G8 a directory is used only if no other user can have written in it", () => {
	test("one that is missing is made, with all on the way, and only then is there", async () => {
		expect(checkPrivate(at("a", "b"))).toBe(false);
		makePrivate(at("a", "b"));
		expect(checkPrivate(at("a", "b"))).toBe(true);
		makePrivate(at("a", "b"));
	});

	test.each([0o000, 0o022, 0o777])("made under umask %o it is 0700, and so is all on the way", async (mask) => {
		const before = process.umask(mask);
		try {
			makePrivate(at("a", "b"));
		} finally {
			process.umask(before);
		}
		for (const path of [at("a"), at("a", "b")]) expect((await stat(path)).mode & 0o7777).toBe(0o700);
	});

	test.each([
		[0o777, "writable"],
		[0o1777, "writable"],
		[0o702, "writable"],
		[0o755, "open"],
		[0o710, "open"],
	])("mode %o is refused as it is and not repaired", async (mode, why) => {
		const path = await directory(at("d"), mode);
		expect(refusal(path)).toMatchObject({ code: "unsafe_home", facts: { directory: path, why } });
		expect((await stat(path)).mode & 0o7777).toBe(mode);
	});

	test("the answer says what to do", async () => {
		expect(refusal(await directory(at("d"), 0o755))).toMatchObject({
			message: expect.stringContaining(`${at("d")} can be read by other users (mode 755)`),
			next: expect.stringContaining(`chmod 700 ${at("d")}`),
		});
	});

	test("a directory on the way in which others can write is refused, unless it is sticky", async () => {
		const open = await directory(at("open"), 0o777);
		expect(refusal(join(open, "d"))).toMatchObject({ facts: { directory: open, why: "writable" } });
		expect(await readdir(open)).toEqual([]);
		makePrivate(join(await directory(at("like-tmp"), 0o1777), "d"));
	});

	test("a symbolic link in its place is refused, one on the way only where others can make links", async () => {
		const real = await directory(at("real"));
		await symlink(real, at("link"));
		expect(refusal(at("link"))).toMatchObject({ facts: { directory: at("link"), why: "link" } });
		makePrivate(at("link", "d"));
		expect(checkPrivate(at("real", "d"))).toBe(true);
		const tmp = await directory(at("like-tmp"), 0o1777);
		await symlink(real, join(tmp, "link"));
		expect(refusal(join(tmp, "link", "d"))).toMatchObject({ facts: { directory: join(tmp, "link"), why: "link" } });
	});

	test("links that lead to each other end as a fault", async () => {
		await symlink(at("b"), at("a"));
		await symlink(at("a"), at("b"));
		expect(refusal(at("a", "d"))).toMatchObject({ code: "unusable_home", facts: { code: "ELOOP" } });
	});

	test("what is behind a link is checked too", async () => {
		const open = await directory(at("open"), 0o777);
		await symlink(open, at("link"));
		expect(refusal(at("link", "d"))).toMatchObject({ facts: { directory: open, why: "writable" } });
	});

	test("another user's directory is refused, in its place and on the way", needing("root"), async () => {
		const theirs = await directory(at("theirs"));
		await chown(theirs, NOBODY, NOBODY);
		const fault = { code: "unsafe_home", facts: { directory: theirs, why: "owner", uid: NOBODY } };
		expect(refusal(theirs)).toMatchObject(fault);
		expect(refusal(join(theirs, "d"))).toMatchObject(fault);
		const tmp = await directory(at("like-tmp"), 0o1777);
		await symlink(at(), join(tmp, "link"));
		await chown(tmp, NOBODY, NOBODY);
		expect(refusal(join(tmp, "d"))).toMatchObject({ facts: { why: "owner" } });
	});
});

describe("S14 a home that cannot be made", () => {
	test("under /proc is a fault at once", () => {
		expect(() => makePrivate("/proc/nope/x")).toThrow(
			"cannot keep its files in /proc/nope: it cannot be created there",
		);
	});

	test("behind a file is a fault that names the file", async () => {
		await writeFile(at("file"), "");
		expect(refusal(at("file", "d"))).toMatchObject({
			code: "unusable_home",
			facts: { directory: at("file"), code: "ENOTDIR" },
		});
	});

	test("an error of the disk is a fault of the home, an error elsewhere is not", () => {
		const where = { state: "/s", run: "/s/run" };
		const error = (code: string, path?: string) => Object.assign(new Error(code), { code, path });
		expect(homeFault(error("EACCES", "/s/run/epoch"), where)).toMatchObject({ code: "unusable_home" });
		expect(homeFault(error("ENOSPC"), where)).toMatchObject({ facts: { directory: "/s", code: "ENOSPC" } });
		expect(homeFault(error("EMFILE", "/s/sessions/x"), where)).toMatchObject({
			code: "out_of_resources",
			message: "Dialtone has reached its open-file limit (EMFILE).",
		});
		expect(homeFault(error("EACCES", "/somewhere"), where)).toBeNull();
		expect(homeFault(error("ERR_SOMETHING"), where)).toBeNull();
		expect(homeFault(new Error("other"), where)).toBeNull();
	});
});
