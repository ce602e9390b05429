// Another real user of this machine, made for a test: a uid that nobody has, with a home of its own. Needs root.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SYSTEM_PATH } from "../programs.ts";

const FIRST_FREE_UID = 61_000;

export interface Ran {
	readonly code: number | null;
	readonly out: string;
	readonly err: string;
	readonly ms: number;
}

export class User implements Disposable {
	readonly uid: number;
	readonly home: string;
	readonly env: Readonly<Record<string, string>>;

	/** `base` must be a directory that every user may enter. */
	constructor(base: string, name: string) {
		this.uid = freeUid();
		this.home = join(base, name);
		mkdirSync(this.home, { mode: 0o755 });
		chownSync(this.home, this.uid, this.uid);
		this.env = { HOME: this.home, PATH: SYSTEM_PATH, TERM: "xterm", LANG: "C.UTF-8", SHELL: "/bin/bash" };
	}

	spawn(argv: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
		const id = String(this.uid);
		const as = ["--reuid", id, "--regid", id, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
		return spawn("setpriv", [...as, "--", ...argv], { env: { ...this.env, ...env }, cwd: "/" });
	}

	/** Runs a program to its end, or ends it when it hangs: then there is no exit code. */
	async run(
		argv: readonly string[],
		options: { env?: Record<string, string>; input?: string; timeoutMs?: number } = {},
	): Promise<Ran> {
		const begun = performance.now();
		const child = this.spawn(argv, options.env);
		let [out, err] = ["", ""];
		child.stdout!.setEncoding("utf8").on("data", (text: string) => {
			out += text;
		});
		child.stderr!.setEncoding("utf8").on("data", (text: string) => {
			err += text;
		});
		child.stdin!.on("error", () => {}); // it ended without reading
		child.stdin!.end(options.input ?? "");
		const hung = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 20_000);
		const [code] = (await once(child, "close")) as [number | null];
		clearTimeout(hung);
		return { code, out, err, ms: performance.now() - begun };
	}

	/** Whether this user can read a file, such as this checkout. */
	canRead(path: string): boolean {
		const id = String(this.uid);
		return spawnSync("setpriv", ["--reuid", id, "--regid", id, "--clear-groups", "test", "-r", path]).status === 0;
	}

	processes(): readonly number[] {
		return processUids()
			.filter(({ uid }) => uid === this.uid)
			.map(({ pid }) => pid);
	}

	[Symbol.dispose](): void {
		for (const pid of this.processes()) process.kill(pid, "SIGKILL");
		rmSync(this.home, { recursive: true, force: true });
	}
}

function freeUid(): number {
	const taken = new Set(
		readFileSync("/etc/passwd", "utf8")
			.split("\n")
			.map((line) => Number(line.split(":")[2])),
	);
	for (const { uid } of processUids()) taken.add(uid);
	for (const name of readdirSync("/tmp")) taken.add(Number(/^dialtone-(\d+)$/.exec(name)?.[1]));
	// Two test files must not make the same one.
	let uid = FIRST_FREE_UID + (process.pid % 2000) * 2;
	while (taken.has(uid) || made.has(uid)) uid++;
	made.add(uid);
	return uid;
}

const made = new Set<number>();

function processUids(): readonly { pid: number; uid: number }[] {
	return readdirSync("/proc").flatMap((name) => {
		try {
			const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1];
			return uid === undefined || !/^\d+$/.test(name) ? [] : [{ pid: Number(name), uid: Number(uid) }];
		} catch {
			return []; // no process, or ended meanwhile
		}
	});
}
