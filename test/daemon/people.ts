// Other people on the same machine, and a command line for each of them.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { MAIN } from "./home.ts";

/** Users that exist nowhere else: nothing on this machine is theirs. */
export const VICTIM = 54321;
export const STRANGER = 54322;

/** The command as another user runs it. Root only. */
export const as = (uid: number, argv: readonly string[]): string[] => [
	...["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"],
	...argv,
];

export interface Ended {
	readonly code: number | null;
	readonly out: string;
	readonly err: string;
	readonly ms: number;
}

/** Runs a command to its end. */
export async function run(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Ended> {
	const startedAt = performance.now();
	const child = spawn(argv[0]!, argv.slice(1), { env, stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
	const [out, err] = [collected(child.stdout), collected(child.stderr)];
	const [code] = (await once(child, "close")) as [number | null];
	return { code, out: out.text, err: err.text, ms: performance.now() - startedAt };
}

/** `dialtone ARGS`, as anyone. */
export const dialtone = (...args: readonly string[]): string[] => [process.execPath, MAIN, ...args];

/** A process whose output is kept, ended with the test. */
export class Background implements AsyncDisposable {
	readonly child: ChildProcess;
	readonly #out: { text: string };

	constructor(argv: readonly string[], env: NodeJS.ProcessEnv = process.env) {
		this.child = spawn(argv[0]!, argv.slice(1), { env, stdio: ["ignore", "pipe", "inherit"] });
		this.#out = collected(this.child.stdout!);
	}

	get out(): string {
		return this.#out.text;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.child.exitCode !== null || this.child.signalCode !== null) return;
		const gone = once(this.child, "exit");
		this.child.kill("SIGKILL");
		await gone;
	}
}

function collected(stream: NodeJS.ReadableStream): { text: string } {
	const all = { text: "" };
	stream.setEncoding("utf8").on("data", (text: string) => {
		all.text += text;
	});
	return all;
}
