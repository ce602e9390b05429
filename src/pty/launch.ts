// Starts a program on its own terminal, with its own holder.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { LaunchAnswer } from "../protocol/frames.ts";
import { parseLaunchAnswer } from "../protocol/holder-json.ts";
import { PtyCreationError } from "./errors.ts";
import { HolderPty } from "./holder-pty.ts";
import { type LaunchSpec, launchBlock } from "./launch-block.ts";
import { SECRET_BYTES } from "./owner-secret.ts";
import { identityOf } from "./process-stat.ts";
import { type WaitScope, wait } from "./wait.ts";

export type { LaunchSpec } from "./launch-block.ts";

/** A launch takes milliseconds; beyond this something hangs (a dead network mount as cwd). */
const LAUNCH_TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/** Tells the holder that its answer has arrived. Without it the program is ended, or not even executed. */
const KEEP = Uint8Array.of(1);
/** With back-off this is about a second; after that the start has failed. */
const CONNECT_TRIES = 10;

/** Settles when the program runs; rejects with PtyCreationError, and then nothing is left behind. */
export async function launch(spec: LaunchSpec): Promise<HolderPty> {
	const secret = randomBytes(SECRET_BYTES);
	const answer = await ask(spec.holder ?? HOLDER, launchBlock(spec, secret));
	if (!answer.ok) throw new PtyCreationError(answer);
	const [mainProcess, holderProcess] = [identityOf(answer.pid), identityOf(answer.holder)];
	const pty = new HolderPty({ ...spec, secret, from: 0, mainProcess, holderProcess });
	try {
		// Program and holder may be gone before we connect: the log has the same output.
		await pty.connect({ tries: CONNECT_TRIES });
	} catch (cause) {
		// Out of descriptors in between: a session that cannot be reached must not keep running.
		for (const pid of [-answer.pid, answer.holder]) killed(pid);
		await pty[Symbol.asyncDispose]();
		const { code = "EUNKNOWN", message } = cause as NodeJS.ErrnoException;
		throw new PtyCreationError({ stage: "launch", code, message: `the holder is unreachable: ${message}`, cause });
	}
	return pty;
}

/** The same place whether this runs from src/ or from dist/. */
export const HOLDER = join(import.meta.dirname, "../../build/dialtone-holder");

function killed(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// Already exited.
	}
}

function ask(program: string, block: Buffer): Promise<LaunchAnswer> {
	const start = (scope: WaitScope<LaunchAnswer>) => {
		const fail = (code: string, message: string, cause?: unknown) =>
			scope.fail(new PtyCreationError({ stage: "launch", code, message, cause }));
		const launcher = spawned(program);
		scope.after(LAUNCH_TIMEOUT_MS, () => {
			launcher.kill("SIGKILL"); // its holder sees that, and executes nothing
			fail("ETIMEDOUT", `the holder did not answer in ${LAUNCH_TIMEOUT_MS / 1000} s`);
		});
		let output = "";
		launcher.on("error", (cause: NodeJS.ErrnoException) => {
			const missing = cause.code === "ENOENT" && !existsSync(program) ? " (is it built? `npm run setup`)" : "";
			fail(cause.code ?? "EUNKNOWN", `the holder could not be started: ${cause.message}${missing}`, cause);
		});
		// Its answer has the reason it did not read the whole block.
		launcher.stdin?.on("error", () => {}).write(block);
		launcher.stdout?.setEncoding("utf8").on("data", (text: string) => {
			if (output.length < MAX_ANSWER_BYTES) output += text;
			if (output.endsWith("\n")) answer();
		});
		launcher.on("close", (code, signal) => answer(`the holder did not answer (${signal ?? `exit code ${code}`})`));
		const answer = (problem = "the holder's answer is malformed") => {
			try {
				const parsed = parseLaunchAnswer(output);
				if (launcher.stdin?.writable) launcher.stdin.end(parsed.ok ? KEEP : undefined);
				scope.settle(parsed);
			} catch (cause) {
				launcher.kill("SIGKILL");
				fail("EPROTO", problem, cause);
			}
		};
	};
	return wait([{ start }]);
}

function spawned(program: string): ChildProcess {
	try {
		return spawn(program, [], { cwd: "/", env: {}, stdio: ["pipe", "pipe", "ignore"] });
	} catch (cause) {
		const { code = "EUNKNOWN", message } = cause as NodeJS.ErrnoException;
		throw new PtyCreationError({
			stage: "launch",
			code,
			message: `the holder could not be started: ${message}`,
			cause,
		});
	}
}
