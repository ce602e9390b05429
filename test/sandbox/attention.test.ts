// R4.9 R1.4: whose turn it is, what for and how surely is told in a sandbox as outside. `npm run corpus -- --sandbox` plays all programs.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";
import { needing, SYSTEM_PATH } from "../programs.ts";

const WAITING = "waiting";
const SERVER = "import socketserver as s; s.TCPServer(('127.0.0.1', 0), s.BaseRequestHandler).serve_forever()";

/** A program, what it needs, and what is true of it. */
const PROGRAMS: readonly (readonly [readonly string[], readonly string[], string])[] = [
	[["bash", "--norc", "--noprofile"], [], WAITING],
	[["python3", "-q"], ["python3"], WAITING],
	[["node", "-i"], [], WAITING],
	[["vim", "-u", "NONE", "-N"], ["vim"], WAITING],
	[["nano", "-I"], ["nano"], WAITING],
	[["less", "/etc/services"], ["less"], WAITING],
	[["cat"], [], WAITING],
	[["bc", "-q"], ["bc"], WAITING],
	[["sqlite3", ":memory:"], ["sqlite3"], WAITING],
	[["gdb", "-q", "-nx"], ["gdb"], WAITING],
	[["bash", "-c", 'read -rsp "Password: " p'], [], WAITING],
	[["bash", "-c", 'read -rn1 -p "Continue? [y/n] " a'], [], WAITING],
	[["sh", "-c", "fzf < list"], ["fzf"], WAITING],
	// It leaves the foreground: then what else has left it counts, too, but not what makes the sandbox.
	[["setsid", "-w", "cat"], [], WAITING],
	[["top"], ["top"], WAITING],
	[["sh", "-c", "printf 'name? '; sleep 600"], [], "working"],
	[["python3", "-c", SERVER], ["python3"], "serving"],
];

describe("R4.9 R1.4 in a sandbox as outside", needing("bwrap"), () => {
	let dialtone: Dialtone;
	let workspace: string;
	beforeAll(async () => {
		workspace = mkdtempSync(join(tmpdir(), "dt-turn-"));
		writeFileSync(join(workspace, "list"), "one\ntwo\n");
		dialtone = await Dialtone.open({ options: { maxSessions: 20 } });
	});
	afterAll(async () => {
		await dialtone[Symbol.asyncDispose]();
		rmSync(workspace, { recursive: true });
	});

	const told = async (argv: readonly string[], activity: string, sandbox?: { workspace: string; ro: string[] }) => {
		const terminal = await dialtone.start({
			argv: [...argv],
			cwd: workspace,
			env: { PATH: SYSTEM_PATH, HOME: "/nonexistent", LC_ALL: "C.UTF-8" },
			inherit: "none",
			...(sandbox && { sandbox }),
			// What waits is told at once; what does not is looked at again.
			timeoutMs: activity === WAITING ? 60_000 : 1_000,
		});
		try {
			const facts = await until(`${argv[0]} is ${activity}`, async () => {
				const now = terminal.facts.activity === WAITING ? terminal.facts : await terminal.wait({ timeoutMs: 1_000 });
				return (activity === WAITING || now.activity !== "working" || activity === "working") && now;
			});
			const { waitingFor, certainty } = facts;
			return { activity: facts.activity, waitingFor, certainty, sandbox: facts.sandbox };
		} finally {
			await terminal.close({ force: true });
		}
	};

	for (const [argv, needs, activity] of PROGRAMS)
		test(`${argv.join(" ")} is ${activity}`, { timeout: 240_000, ...needing(...needs) }, async () => {
			const outside = await told(argv, activity);
			const ro = process.execPath.startsWith("/usr/") ? [] : [dirname(dirname(process.execPath))];
			const inside = await told(argv, activity, { workspace, ro });
			expect(outside).toMatchObject({ activity, sandbox: "none" });
			expect(inside).toEqual({ ...outside, sandbox: "enforced" });
		});
});
