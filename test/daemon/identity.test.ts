// Whom a client talks to: its own user's daemon, in a directory that only this user can have written in.

import {
	chmodSync,
	chownSync,
	existsSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { places } from "../../src/pty/places.ts";
import { VERSION } from "../../src/version.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { Home } from "./home.ts";
import { as, Background, dialtone, run, STRANGER, VICTIM } from "./people.ts";

const FAKE = join(import.meta.dirname, "../fixtures/fake-daemon.mjs");
const KEY = "sk-of-the-victim";

/** A fake daemon in this directory, listening. */
async function fake(uid: number, directory: string, epoch: number): Promise<Background> {
	const process_ = new Background(as(uid, [process.execPath, FAKE, directory, String(epoch), VERSION]));
	await until("the fake daemon listens", () => process_.out.includes("ready"));
	return process_;
}

let home: string;
beforeEach(() => {
	home = mkdtempSync(join(tmpdir(), "dt-identity-"));
	chmodSync(home, 0o755);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe("G1 another user's daemon", () => {
	test(
		"in a directory of /tmp that was made before the victim's first call is told nothing",
		needing("second user"),
		async () => {
			// So long that its sockets are in /tmp, under a name that anyone can make first.
			const state = join(home, "h".repeat(100));
			mkdirSync(state, { recursive: true });
			chownSync(state, VICTIM, VICTIM);
			const env = { PATH: process.env.PATH, HOME: state, ANTHROPIC_API_KEY: KEY };
			const shared = `/tmp/dialtone-${VICTIM}`;
			const expected = places({ HOME: state }).run.replace(/-\d+\//, `-${VICTIM}/`);
			expect(expected.startsWith(`${shared}/`)).toBe(true);
			try {
				await run(as(STRANGER, ["mkdir", "-p", "-m", "777", shared, expected]));
				await using old = await fake(STRANGER, shared, 1);
				await using new_ = await fake(STRANGER, expected, 1);
				for (const args of [["ls"], ["start", "true"], ["daemon", "status"], ["serve"]]) {
					const { code, err } = await run(as(VICTIM, dialtone(...args)), env);
					expect(err).toContain(`${shared} belongs to another user (uid ${STRANGER})`);
					expect(code).toBe(8);
				}
				expect([old.out, new_.out]).toEqual(["ready\n", "ready\n"]);
			} finally {
				rmSync(shared, { recursive: true, force: true });
			}
		},
	);

	test("on the socket of the victim's own directory gets no byte", needing("second user"), async () => {
		const run_ = join(home, "run");
		for (const path of [home, run_]) {
			mkdirSync(path, { recursive: true });
			chmodSync(path, 0o777); // for a moment, so that it can be there at all
		}
		await using stranger = await fake(STRANGER, run_, 1);
		chownSync(join(run_, "daemon.1"), 0, 0);
		for (const path of [home, run_]) chmodSync(path, 0o700);
		const { code, err } = await run(dialtone("ls"), { ...process.env, DIALTONE_HOME: home, ANTHROPIC_API_KEY: KEY });
		expect(err).toContain(`belongs to another user (uid ${STRANGER}); nothing was sent to it`);
		expect(code).toBe(8);
		expect(stranger.out).toBe("ready\nconnected\n");
	});

	test("is not reached through a lock that names a socket elsewhere", needing("second user"), async () => {
		const theirs = join(home, "theirs");
		const mine = join(home, "mine");
		mkdirSync(theirs);
		chmodSync(theirs, 0o777);
		await using stranger = await fake(STRANGER, theirs, 1);
		const lock = { epoch: 1, pid: stranger.child.pid, born: null, socket: join(theirs, "d1.sock"), version: VERSION };
		mkdirSync(join(mine, "run"), { recursive: true, mode: 0o700 });
		writeFileSync(join(mine, "run/daemon.1"), JSON.stringify(lock), { mode: 0o600 });
		// The lock is held by a living process and its socket is missing: a clear fault, after a bounded wait.
		const { code } = await run(dialtone("ls"), { ...process.env, DIALTONE_HOME: mine, ANTHROPIC_API_KEY: KEY });
		expect(code).toBe(7);
		expect(stranger.out).toBe("ready\n");
	});
});

describe("G1 a client", () => {
	test(
		"is served only by its own user's daemon: another user's connection ends unread",
		needing("second user"),
		async () => {
			await using mine = new Home();
			await using client = await mine.connect();
			const { socket, pid } = await client.status();
			// As if the directory had been opened by mistake.
			for (const path of [mine.path, join(mine.path, "run"), socket!]) chmodSync(path, 0o777);
			const say = `const s = require("net").connect(${JSON.stringify(socket)});
			s.on("connect", () => s.write('{"id":1,"do":"status"}\\n'));
			s.on("error", () => {}).on("data", (d) => process.stdout.write(d)).on("close", () => process.stdout.write("closed"))`;
			expect((await run(as(STRANGER, [process.execPath, "-e", say]))).out).toBe("closed");
			for (const path of [mine.path, join(mine.path, "run")]) chmodSync(path, 0o700);
			expect((await client.status()).pid).toBe(pid);
		},
	);
});

test("a home is usable in a sandbox where root has no number", needing("user namespaces"), async () => {
	// In /tmp itself: below it, a directory of someone without a number may be anyone's, and is refused.
	const state = mkdtempSync("/tmp/dt-sandbox-");
	const inside = (at: string, ...args: string[]) => {
		const env = { PATH: process.env.PATH, DIALTONE_HOME: at };
		return run(as(VICTIM, ["unshare", "-U", "-r", ...dialtone(...args)]), env);
	};
	try {
		// Each command is in a namespace of its own, and so in another one than the daemon of the first.
		const policy = join(state, "policy.json");
		writeFileSync(policy, '{ "elsewhere": "allow" }', { mode: 0o600 });
		for (const path of [state, policy]) chownSync(path, VICTIM, VICTIM);
		expect(await inside(state, "ls")).toMatchObject({ code: 0 });
		expect(await inside(state, "daemon", "stop")).toMatchObject({ code: 0 });
		expect((await inside(join(home, "state"), "ls")).err).toContain("belongs to another user");
	} finally {
		rmSync(state, { recursive: true, force: true });
	}
});

describe("G8 a home that others could have written in", () => {
	const env = () => ({ ...process.env, DIALTONE_HOME: home });
	const token = { id: "1", name: "planted", hash: "0".repeat(64), readOnly: false, createdAt: 1 };

	test("is refused by every command, and left as it is", async () => {
		chmodSync(home, 0o777);
		writeFileSync(join(home, "tokens.json"), JSON.stringify([token]));
		const before = readdirSync(home);
		for (const args of [
			["ls"],
			["run", "true"],
			["serve", "--foreground", "--port", "0"],
			["token", "list"],
			["daemon", "run"],
		]) {
			const { code, err } = await run(dialtone(...args), env());
			expect(err).toContain(`Other users can write in ${home} (mode 777)`);
			expect(code).toBe(args[0] === "run" ? 125 : 8);
		}
		expect(readdirSync(home)).toEqual(before);
		expect(lstatSync(home).mode & 0o777).toBe(0o777);
	});

	test("by name of a link is refused", async () => {
		const link = `${home}-link`;
		symlinkSync(home, link);
		try {
			const { err } = await run(dialtone("ls"), { ...process.env, DIALTONE_HOME: link });
			expect(err).toContain(`${link} is a symbolic link`);
			expect(readdirSync(home)).toEqual([]);
		} finally {
			rmSync(link);
		}
	});

	test("does not grant what another user's token file says", needing("second user"), async () => {
		chmodSync(home, 0o700);
		const file = join(home, "tokens.json");
		writeFileSync(file, JSON.stringify([token]));
		chownSync(file, STRANGER, STRANGER);
		const { code, err, out } = await run(dialtone("token", "list"), env());
		expect(out).not.toContain("planted");
		expect(err).toContain("belongs to another user");
		expect(code).not.toBe(0);
	});
});

describe("G16 a corrupt lock file", () => {
	test.each([
		["{}", "{}"],
		["nothing", ""],
		["binary", "\u0000\uffff"],
		["a process that is not a number", `{"pid":"x","born":null,"version":"1"}`],
	])(
		"(%s) does not keep a daemon from starting: one runs, with the next number, and `doctor` names the file",
		async (_, text) => {
			await using mine = new Home();
			mkdirSync(join(mine.path, "run"), { mode: 0o700 });
			const file = join(mine.path, "run/daemon.5");
			writeFileSync(file, text, { mode: 0o600 });
			const env = mine.env;
			expect((await run(dialtone("doctor"), env)).out).toContain(`corrupt: ${file}`);
			const pids = new Set<number>();
			for (let call = 0; call < 3; call++) {
				const { code, out } = await run(dialtone("daemon", call === 0 ? "restart" : "status", "--json"), env);
				expect(code).toBe(0);
				pids.add(JSON.parse(out).pid);
			}
			expect(pids.size).toBe(1);
			expect(existsSync(file)).toBe(false);
			expect(readdirSync(join(mine.path, "run")).sort()).toEqual(["d6.sock", "daemon.6"]);
		},
	);
});
