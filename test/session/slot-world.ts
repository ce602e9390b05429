// A daemon inside the test, for the model: its client, what can be seen from inside, and restarts.

import type { Places } from "../../src/pty/places.ts";
import { type Options, resolveOptions } from "../../src/session/options.ts";
import { Sessions } from "../../src/session/sessions.ts";
import type { Terminals } from "../../src/session/terminals.ts";
import { LocalClient } from "../../src/tools/local-client.ts";
import type { World } from "./slot-model.ts";
import { SlotWatch } from "./slot-watch.ts";

export interface WorldParts extends Pick<World, "places" | "alive" | "settle" | "start"> {
	readonly options: Partial<Options>;
	/** For each daemon; real holders where left out. */
	readonly terminals?: () => Terminals;
	/** Cuts the daemon off from its terminals; where left out, it is not killed but stopped. */
	readonly onKill?: () => void;
}

export class InProcessWorld implements World, AsyncDisposable {
	readonly places: Places;
	readonly alive: World["alive"];
	readonly settle: World["settle"];
	readonly start: World["start"];
	readonly #parts: WorldParts;
	readonly #slots = new SlotWatch();
	readonly #problems: string[] = [];
	#epoch = 0;
	#opened!: { readonly sessions: Sessions; readonly client: LocalClient; leaving: boolean };

	private constructor(parts: WorldParts) {
		this.#parts = parts;
		this.places = parts.places;
		this.alive = parts.alive;
		this.settle = parts.settle;
		this.start = parts.start;
	}

	static async open(parts: WorldParts): Promise<InProcessWorld> {
		const world = new InProcessWorld(parts);
		await world.#open();
		return world;
	}

	get client(): LocalClient {
		return this.#opened.client;
	}

	get inside() {
		return { sessions: this.#opened.sessions, slots: this.#slots, problems: this.#problems };
	}

	caller = (owner: string) => ({ owner, cwd: "/", env: { PATH: process.env.PATH ?? "/usr/bin:/bin" } });

	/** `kill`: the one before launches nothing more and hears of no end. */
	async restart(how: "stop" | "kill"): Promise<void> {
		const before = this.#opened;
		before.leaving = true;
		if (how === "kill") this.#parts.onKill?.();
		await before.client[Symbol.asyncDispose]();
		await this.#open();
	}

	/** Ends everything; returns the names of what could not be ended. */
	endAll(): Promise<readonly string[]> {
		return this.#opened.sessions.endAll();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#opened.leaving = true;
		await this.client[Symbol.asyncDispose]();
		this.#slots[Symbol.dispose]();
	}

	async #open(): Promise<void> {
		const { places, options, terminals } = this.#parts;
		const state = { leaving: false };
		const sessions = await Sessions.open({
			places,
			options: resolveOptions(options),
			epoch: ++this.#epoch,
			// One that is leaving may find its holders taken.
			onProblem: (problem, doing) => state.leaving || this.#problems.push(`${doing}: ${problem}`),
			onFenced: () => {},
			...(terminals === undefined ? {} : { terminals: terminals() }),
		});
		const caller = this.caller("model");
		const status = () => ({
			pid: process.pid,
			version: "",
			socket: null,
			sessions: sessions.runningCount(),
			startedAt: 0,
			http: null,
		});
		this.#opened = Object.assign(state, { sessions, client: new LocalClient({ places, sessions, caller, status }) });
	}
}
