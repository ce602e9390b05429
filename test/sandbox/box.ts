// A session in a sandbox, or the same one outside of it, as root or as a normal user; and a place outside to escape to.
import { chmodSync, chownSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LaunchSpec, launch } from "../../src/pty/launch.ts";
import type { PtyExit } from "../../src/pty/pty.ts";
import { confined, type Sandbox } from "../../src/pty/sandbox.ts";
import { Received, root, Stage, type Started } from "../pty/stage.ts";

const NOBODY = 65534;
export const isRoot = process.getuid?.() === 0;
/** As whom sessions can be run here. */
export const USERS = isRoot ? (["root", "a normal user"] as const) : (["a normal user"] as const);
export type User = (typeof USERS)[number];

export class Box implements AsyncDisposable {
	/** What the program may write. */
	readonly workspace: string;
	/** What it must not reach: a file `secret`. */
	readonly outside: string;
	/** The user's home, with credentials and a start file. */
	readonly home: string;
	readonly #stage: Stage;
	readonly #base: string;
	readonly #user: User;
	/** A copy: the checkout may be where a normal user cannot read. */
	readonly #helper: string;
	#holder: string | undefined;

	private constructor(stage: Stage, base: string, user: User) {
		this.#stage = stage;
		this.#base = base;
		this.#user = user;
		[this.workspace, this.outside, this.home] = ["workspace", "outside", "home"].map((name) => join(base, name)) as [
			string,
			string,
			string,
		];
		for (const path of [this.workspace, this.outside, this.home, join(this.home, ".ssh")]) mkdirSync(path);
		writeFileSync(join(this.outside, "secret"), "outside\n");
		writeFileSync(join(this.home, ".ssh/id_test"), "a key\n");
		writeFileSync(join(this.home, ".bashrc"), "# the user's own\n");
		chmodSync(base, 0o755);
		this.#helper = join(base, "helper");
		copyFileSync(join(root, "build/dialtone-sandbox"), this.#helper);
		chmodSync(this.#helper, 0o755);
		for (const path of [
			"workspace",
			"outside",
			"outside/secret",
			"home",
			"home/.ssh",
			"home/.ssh/id_test",
			"home/.bashrc",
		])
			this.give(join(base, path));
	}

	static async open(user: User): Promise<Box> {
		return new Box(await Stage.open(), await mkdtemp(join(tmpdir(), "dt-box-")), user);
	}

	get uid(): number {
		return isRoot && this.#user !== "root" ? NOBODY : (process.getuid?.() ?? 0);
	}

	/** Makes it the user's. */
	give(path: string): string {
		if (isRoot) chownSync(path, this.uid, this.uid);
		return path;
	}

	get state(): string {
		return this.#stage.home;
	}

	async spec(argv: readonly string[], changes: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
		const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: this.home, TERM: "xterm-256color", LC_ALL: "C.UTF-8" };
		const spec = await this.#stage.spec(argv, { cwd: this.workspace, ...changes, env: { ...env, ...changes.env } });
		if (!isRoot || this.#user === "root") return spec;
		this.#holder ??= (await this.#stage.asNobody()).holder;
		const directory = this.give(await mkdtemp(join(this.state, "session-")));
		return { ...spec, directory, socketPath: join(directory, "s.sock"), holder: this.#holder };
	}

	/** Starts a program, or a line of shell, in the sandbox; without one, outside. */
	async start(
		program: string | readonly string[],
		sandbox: Partial<Sandbox> | null = {},
		changes: Partial<LaunchSpec> = {},
		parts: Parameters<typeof confined>[2] = {},
	): Promise<Started> {
		const argv = typeof program === "string" ? ["sh", "-c", program] : program;
		const plain = await this.spec(argv, changes);
		const spec = sandbox === null ? plain : await this.confined(plain, sandbox, parts);
		const pty = this.#stage.keep(await launch(spec));
		return { pty, spec, received: new Received(pty) };
	}

	confined(
		plain: LaunchSpec,
		sandbox: Partial<Sandbox>,
		parts: Parameters<typeof confined>[2] = {},
	): Promise<LaunchSpec> {
		const whole: Sandbox = { workspace: this.workspace, ro: [], rw: [], network: "none", ...sandbox };
		return confined(plain, whole, { helper: this.#helper, ...parts });
	}

	/** Runs it to its end. */
	async run(...options: Parameters<Box["start"]>): Promise<{ said: string; exit: PtyExit }> {
		const { received } = await this.start(...options);
		const exit = await received.exited;
		return { said: received.text.replaceAll("\r", ""), exit };
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#stage[Symbol.asyncDispose]();
		await rm(this.#base, { recursive: true, force: true, maxRetries: 5 });
	}
}
