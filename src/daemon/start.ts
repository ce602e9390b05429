// Starts a daemon that outlives this process, and waits until it is ready.
//
// It gets a world of its own: a session of its own, `/`, and of the environment
// only what daemon-environment.ts lists. The caller's goes with each call.

import { spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Fault, type FaultFacts, type FaultJson } from "../protocol/fault.ts";
import { places } from "../pty/places.ts";
import { makePrivate } from "../pty/private-directory.ts";
import { type Condition, wait } from "../pty/wait.ts";
import { daemonEnvironment } from "./daemon-environment.ts";
import { handedOver, toHandOver } from "./handed-over.ts";
import type { ReachOptions } from "./reach.ts";

/** A daemon is ready in 0.3 s, on an overloaded machine in half a minute; it waits 10 s for another that has the lock. */
const READY_TIMEOUT_MS = 60_000;
const LOG_TAIL_BYTES = 4096;

export type StartOptions = Pick<ReachOptions, "run" | "command" | "env" | "readyTimeoutMs">;

/** Settles when some daemon is ready, ours or one that was faster. Otherwise throws, and no process is left. */
export async function startDaemon({ run, command, env, readyTimeoutMs }: StartOptions): Promise<void> {
	makePrivate(run); // refuses a home that cannot be used before there is a process
	const [program, ...args] = command;
	const secrets = await toHandOver(env);
	const child = spawn(program!, args, {
		detached: true,
		stdio: [secrets === null ? "ignore" : "pipe", "pipe", "pipe"] as ["pipe", "pipe", "pipe"],
		env: { ...daemonEnvironment(env), ...handedOver(secrets) },
		cwd: "/",
	});
	// It may have ended before it has read them.
	if (secrets !== null) child.stdin.on("error", () => {}).end(JSON.stringify(secrets));
	let stderr = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		stderr = (stderr + text).slice(-2000);
	});
	const why = () => stderr.trim() || lastError(env) || "its log says nothing";
	const ms = readyTimeoutMs ?? READY_TIMEOUT_MS;
	const answered: Condition<Answered> = {
		start({ settle, own, after }) {
			const lines = createInterface({ input: child.stdout }).on("line", (line) => settle({ line }));
			child.on("error", (error) => settle({ problem: String(error) }));
			child.on("close", (code, signal) =>
				settle({ problem: `exit ${code ?? signal}: ${why()}`, wasKilled: code === null }),
			);
			after(ms, () => {
				child.kill("SIGKILL");
				settle({ problem: `it was not ready after ${ms / 1000} s: ${why()}` });
			});
			own(() => {
				lines.close();
				child.stdout.destroy();
				child.stderr.destroy();
				child.unref();
			});
		},
	};
	const result = await wait([answered]);
	if (!("line" in result)) throw new Fault("no_daemon", result);
	if (result.line !== "ready") throw faultIn(result.line) ?? new Fault("no_daemon", { problem: result.line });
}

/** What it said first, or why it said nothing. */
type Answered = { readonly line: string } | FaultFacts<"no_daemon">;

/** A daemon that could not start says why, instead of `ready`. */
function faultIn(line: string): Fault | null {
	try {
		return Fault.from(JSON.parse(line) as FaultJson);
	} catch {
		return null; // an older one, or not a daemon
	}
}

/** The newest error in the daemon's log; empty where there is none. */
function lastError(env: NodeJS.ProcessEnv): string {
	try {
		const file = openSync(join(places(env).state, "daemon.log"), "r");
		try {
			const tail = Buffer.alloc(LOG_TAIL_BYTES);
			const read = readSync(file, tail, 0, tail.length, Math.max(0, fstatSync(file).size - tail.length));
			const errors = tail
				.toString("utf8", 0, read)
				.split("\n")
				.filter((line) => line.startsWith('{"level":50'));
			const { msg, err } = JSON.parse(errors.at(-1) ?? "{}") as { msg?: string; err?: { message?: string } };
			return [msg, err?.message].filter((part) => part !== undefined).join(": ");
		} finally {
			closeSync(file);
		}
	} catch {
		return ""; // it never came as far as its log
	}
}
