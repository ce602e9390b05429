// Starts a daemon that outlives its starter, and waits for its word.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Fault } from "../protocol/fault.ts";
import type { ReachOptions } from "./reach.ts";

/** Settles when some daemon is ready, ours or the one that was quicker. */
export async function startDaemon({ command, env }: Pick<ReachOptions, "command" | "env">): Promise<void> {
	const [program, ...args] = command;
	const child = spawn(program!, args, { detached: true, stdio: ["ignore", "pipe", "pipe"], env, cwd: "/" });
	let complaint = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		complaint = (complaint + text).slice(-2000);
	});
	const lines = createInterface({ input: child.stdout });
	const ready = once(lines, "line").then(([line]) => String(line));
	const failed = once(child, "close").then(([code]) => `exit ${code}${complaint ? `: ${complaint.trim()}` : ""}`);
	const error = once(child, "error").then(([problem]) => String(problem));
	const word = await Promise.race([ready, failed, error]);
	lines.close();
	child.stdout.destroy();
	child.stderr.destroy();
	child.unref();
	if (word !== "ready") throw new Fault("no_daemon", { problem: word });
}
