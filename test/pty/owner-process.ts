// Owners (test/fixtures/owner.ts) as processes of their own, to be killed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { PtyExit } from "../../src/pty/pty.ts";
import { until } from "../condition.ts";
import type { Job } from "../fixtures/owner.ts";
import { root } from "./stage.ts";

export class OwnerProcess {
	readonly #child: ChildProcess;
	readonly #gone: Promise<unknown>;
	#said = "";

	constructor(job: Job) {
		// `--import tsx`, not the tsx command: that one is two processes, and -9 would hit the wrong one.
		this.#child = spawn(
			process.execPath,
			["--import", "tsx", join(root, "test/fixtures/owner.ts"), JSON.stringify(job)],
			{
				cwd: root,
				stdio: ["ignore", "ignore", "pipe"],
			},
		);
		this.#child.stderr?.on("data", (text) => {
			this.#said += text;
		});
		this.#gone = once(this.#child, "close");
	}

	get isOver(): boolean {
		return this.#child.exitCode !== null || this.#child.signalCode !== null;
	}

	async kill(): Promise<void> {
		this.#child.kill("SIGKILL");
		await this.#gone;
	}

	/** Settles when it has received the end. */
	async finished(): Promise<void> {
		await this.#gone;
		if (this.#child.exitCode !== 0) throw new Error(`the owner failed: ${this.#said}`);
	}
}

/** Lets owners follow each other, each killed when `progress` passes the next mark; the last one finishes. */
export async function throughKills(
	job: Omit<Job, "epoch">,
	{ marks, progress }: { marks: readonly number[]; progress: () => number },
): Promise<PtyExit | "lost"> {
	let epoch = 0;
	for (const mark of marks) {
		const owner = new OwnerProcess({ ...job, epoch: ++epoch });
		await until(`${mark} is passed`, () => progress() >= mark || owner.isOver, { withinMs: 90_000 });
		if (owner.isOver) throw new Error(`the owner was over before ${mark}`);
		await owner.kill();
	}
	await new OwnerProcess({ ...job, epoch: ++epoch }).finished();
	return JSON.parse(readFileSync(`${job.received}.exit`, "utf8"));
}

export const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
