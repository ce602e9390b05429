// Starts a daemon that outlives this process, and waits until it is ready.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Fault } from "../protocol/fault.ts";
import type { ReachOptions } from "./reach.ts";

/** Settles when some daemon is ready, ours or one that was faster. */
export async function startDaemon({ command, env }: Pick<ReachOptions, "command" | "env">): Promise<void> {
	const [program, ...args] = command;
	const child = spawn(program!, args, { detached: true, stdio: ["ignore", "pipe", "pipe"], env, cwd: "/" });
	let stderr = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		stderr = (stderr + text).slice(-2000);
	});
	const lines = createInterface({ input: child.stdout });
	const ready = once(lines, "line").then(([line]) => String(line));
	const failed = once(child, "close").then(([code]) => `exit ${code}${stderr ? `: ${stderr.trim()}` : ""}`);
	const error = once(child, "error").then(([problem]) => String(problem));
	const result = await Promise.race([ready, failed, error]);
	lines.close();
	child.stdout.destroy();
	child.stderr.destroy();
	child.unref();
	if (result !== "ready") throw new Fault("no_daemon", { problem: result });
}
