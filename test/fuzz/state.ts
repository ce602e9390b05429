// State files that something else has written: each case changes one file, a batch is a home in which many are
// changed, and a daemon is started on it. It must start, list and read everything, and stop.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { Conversation } from "../robustness/conversation.ts";
import { errorsLogged, untilIdle, within } from "../robustness/stage.ts";
import type { Ring, Target } from "./runner.ts";
import { apply, FILES, type StateCase, stateCase } from "./state-case.ts";

/** Others in a home, which the daemon does not read. */
const NOT_READ = /^(daemon\.log(\.1)?|run\/daemon\.\d+|sessions\/[^/]+\/(out\.\d+|secret|.*\.tmp))$/;
const COPIES = 16;
const START_MS = 60_000;
const ANSWER_MS = 30_000;
const ID_LENGTH = 26;
const LINES = "for i in $(seq 300); do printf '\\e[3%dmline %d\\e[m\\n' $((i % 8)) $i; done; exit 3";

/** A home with running and ended sessions, without a daemon, and a copy of its files as they should be. */
class StateHome implements AsyncDisposable {
	readonly home = new Home();
	readonly #good = mkdtempSync(join(tmpdir(), "dt-good-"));
	readonly #live: string[] = [];
	readonly copies = Array.from({ length: COPIES }, (_, i) => `${i}`.padStart(ID_LENGTH, "abcdefgh"));
	honest!: Conversation;
	/** The numbers of daemons were changed: holders would refuse those that come after. */
	spent = false;

	static async make(): Promise<StateHome> {
		const made = new StateHome();
		try {
			await made.#fill();
		} catch (error) {
			await made[Symbol.asyncDispose]();
			throw error;
		}
		return made;
	}

	async #fill(): Promise<void> {
		let client = await this.home.connect();
		this.honest = await Conversation.start(client, "python");
		for (const name of ["live-1", "live-2"])
			this.#live.push((await client.call("start", { name, argv: ["cat"] })).facts.session);
		const ended = (await client.call("start", { name: "ended", argv: ["bash", "-c", LINES], until: { only: true } }))
			.facts;
		await client.call("read", { session: "ended", view: "screen" });
		await this.home.cli("token", "create", "kept");
		await client.stop({ sessions: false });
		// What a daemon writes when it comes back is there too.
		client = await this.home.connect();
		await client.stop({ sessions: false });
		this.#copy(ended.session);
	}

	/** Many copies of the ended session, and of all files as they are now. */
	#copy(ended: string): void {
		const sessions = join(this.home.path, "sessions");
		for (const id of this.copies) {
			cpSync(join(sessions, ended), join(sessions, id), { recursive: true });
			const meta = readFileSync(join(sessions, ended, "meta.json"), "utf8");
			const own = meta.replaceAll(ended, id).replace('"ended"', `"copy-${id}"`);
			for (const file of ["meta.json", "meta.copy.json"]) writeFileSync(join(sessions, id, file), own);
		}
		const known = Object.values(FILES).flat() as string[];
		for (const entry of readdirSync(this.home.path, { recursive: true, withFileTypes: true })) {
			if (!entry.isFile()) continue;
			const path = relative(this.home.path, join(entry.parentPath, entry.name));
			if (!known.includes(path.replace(/^sessions\/[^/.]+\//, "")) && !NOT_READ.test(path))
				throw new Error(`${path} is a new kind of file: add it to FILES`);
			mkdirSync(dirname(join(this.#good, path)), { recursive: true });
			cpSync(join(this.home.path, path), join(this.#good, path));
		}
	}

	/** Puts back what a case or a daemon has changed; what holders write stays. */
	restore(): void {
		for (const id of this.copies) {
			rmSync(join(this.home.path, "sessions", id), { recursive: true, force: true });
			cpSync(join(this.#good, "sessions", id), join(this.home.path, "sessions", id), { recursive: true });
		}
		for (const id of this.#live) {
			const directory = join(this.home.path, "sessions", id);
			for (const name of readdirSync(directory))
				if (!/^(timing|secret|out\.0{20}|exit.*\.tmp)$/.test(name)) rmSync(join(directory, name), { recursive: true });
			for (const name of ["meta.json", "meta.copy.json", "keyframe.json", "seen.json"])
				this.#putBack(join("sessions", id, name));
		}
		for (const file of FILES.home) this.#putBack(file);
	}

	#putBack(file: string): void {
		// Its number must never go back.
		if (file === "epoch") return;
		rmSync(join(this.home.path, file), { recursive: true, force: true });
		if (existsSync(join(this.#good, file))) cpSync(join(this.#good, file), join(this.home.path, file));
	}

	change(cases: readonly StateCase[]): void {
		let copy = 0;
		for (const [i, one] of cases.entries()) {
			const session = one.place === "ended" ? this.copies[copy++ % COPIES]! : this.#live[i % this.#live.length]!;
			apply(one, one.place === "home" ? this.home.path : join(this.home.path, "sessions", session));
			this.spent ||= one.file.startsWith("run/");
		}
	}

	/** Starts a daemon on what is there, has everything read and removed, and stops it. */
	async tryDaemon(): Promise<void> {
		const daemon = this.home.spawnDaemon();
		let said = "";
		for (const stream of [daemon.stdout!, daemon.stderr!])
			stream.setEncoding("utf8").on("data", (text: string) => {
				said += text;
			});
		try {
			await until(
				"the daemon is ready",
				() => {
					if (daemon.exitCode !== null) throw new Error(`the daemon did not start: ${daemon.exitCode} ${said}`);
					return said.includes("ready");
				},
				{ withinMs: START_MS },
			);
			const client = await within(ANSWER_MS, "connecting", this.home.find());
			if (client === null) throw new Error("the daemon is ready, but cannot be reached");
			await this.#readAll(client);
			await untilIdle(daemon.pid!);
			const bad = errorsLogged(this.home.path).filter((line) => /uncaught|unhandled/i.test(line));
			if (bad.length > 0) throw new Error(`errors in the log: ${bad[0]}`);
			for (const session of this.copies) await answered(client, "close", { session, forget: true });
			await within(ANSWER_MS, "stopping", client.stop({ sessions: false }));
			await until("the daemon has left", () => daemon.exitCode !== null, { withinMs: ANSWER_MS });
		} finally {
			if (daemon.exitCode === null) daemon.kill("SIGKILL");
			await until("the daemon is gone", () => daemon.exitCode !== null || daemon.signalCode !== null);
		}
	}

	async #readAll(client: SocketClient): Promise<void> {
		const { facts } = await within(ANSWER_MS, "`list`", client.call("list", {}));
		if (!facts.sessions.some(({ name, status }) => name === this.honest.name && status === "running"))
			throw new Error(`an unharmed session is missing in \`list\`: ${JSON.stringify(facts.sessions)}`);
		for (const session of [...this.copies, ...this.#live])
			for (const view of ["new", "screen", "lines", "raw"]) await answered(client, "read", { session, view });
		await this.honest.turn(client);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (existsSync(join(this.#good, "sessions"))) this.restore();
		await this.home[Symbol.asyncDispose]();
		rmSync(this.#good, { recursive: true, force: true });
	}
}

/** Answered, or refused in words; a defect is neither. */
async function answered(client: SocketClient, tool: string, input: object): Promise<void> {
	try {
		await within(ANSWER_MS, `\`${tool}\` ${JSON.stringify(input)}`, client.call<string>(tool, input));
	} catch (error) {
		if (!(error instanceof Fault) || error.code === "internal" || error.code === "no_daemon")
			throw new Error(`\`${tool}\` ${JSON.stringify(input)}: ${(error as Error).message}`);
	}
}

export const stateTarget: Target<StateCase> = {
	name: "state",
	batch: 20,
	make: stateCase,
	open: async (): Promise<Ring<StateCase>> => {
		let current = await StateHome.make();
		return {
			play: async (cases) => {
				if (current.spent) {
					await current[Symbol.asyncDispose]();
					current = await StateHome.make();
				}
				current.restore();
				current.change(cases);
			},
			check: () => current.tryDaemon(),
			usage: async () => null,
			[Symbol.asyncDispose]: () => current[Symbol.asyncDispose](),
		};
	},
};
