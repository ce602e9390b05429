// pexpect on a prompt pattern: see pexpect-lines.py, which is told what to do line by line.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Caller, PATIENCE_MS } from "./caller.ts";

// Debian's own: a python that comes first in PATH need not have the package.
const PYTHON = "/usr/bin/python3";

export function pexpectCaller(): Caller {
	execFileSync(PYTHON, ["-c", "import pexpect"], { stdio: "ignore" });
	const child = spawn(PYTHON, [join(import.meta.dirname, "pexpect-lines.py")], { stdio: ["pipe", "pipe", "inherit"] });
	const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	const ask = async (request: object): Promise<{ told?: string | null }> => {
		child.stdin.write(`${JSON.stringify(request)}\n`);
		const { value, done } = await answers.next();
		if (done) throw new Error("pexpect-lines.py ended");
		return JSON.parse(value);
	};
	let opened = 0;
	return {
		name: "pexpect, prompt pattern",
		polls: false,
		open: async ({ pattern }, argv) => {
			const line = `l${++opened}`;
			await ask({ line, argv, pattern });
			return {
				turn: async (text) => {
					const { told } = await ask({ line, text, timeoutMs: PATIENCE_MS });
					return told ? BigInt(told) : null;
				},
			};
		},
		[Symbol.asyncDispose]: async () => {
			child.stdin.end();
			await once(child, "exit");
		},
	};
}
