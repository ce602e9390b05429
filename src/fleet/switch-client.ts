// The Client that a daemon gives to all who ask: its own sessions, and those of the fleet while it is a member. Which of
// the two it is changes while calls and streams run; each goes on with the one it began with.

import type { Approval, Decision } from "../protocol/approval.ts";
import type { PersonAct } from "../protocol/driver.ts";
import { Fault, isFault } from "../protocol/fault.ts";
import { type FleetSeen, type ListChange, NO_HOST } from "../protocol/session-list.ts";
import { onAbort, type Subscribe } from "../pty/wait.ts";
import type {
	Answer,
	CallOptions,
	Client,
	DrawnOptions,
	DriversOptions,
	EventsOptions,
	OutputOptions,
	PeopleOptions,
	SnapshotOptions,
	ToolSet,
	ViewOptions,
} from "../tools/client.ts";

/** A member · joined, and not connected since the daemon has started · in no fleet. */
export type FleetState =
	| { readonly client: Client }
	| { readonly host: string | null; readonly problem: string; readonly since: number }
	| "in no fleet";

export class SwitchClient implements Client {
	readonly #local: Client;
	readonly #state: () => FleetState;
	readonly #onChange: Subscribe;

	constructor(local: Client, state: () => FleetState, onChange: Subscribe) {
		this.#local = local;
		this.#state = state;
		this.#onChange = onChange;
	}

	get #client(): Client {
		const state = this.#state();
		return typeof state === "object" && "client" in state ? state.client : this.#local;
	}

	readonly call: Client["call"] = async (tool: string, input: unknown, options?: CallOptions): Promise<Answer> => {
		const state = this.#state();
		if (typeof state === "object" && "client" in state) return state.client.call(tool as never, input, options);
		const { host, placement, session } = Object(input) as Record<string, unknown>;
		if (host !== undefined || placement !== undefined) throw noFleet(state, host === undefined ? "placement" : "host");
		try {
			return await this.#local.call(tool as never, input, options);
		} catch (error) {
			const isOther = typeof session === "string" && session.includes("/") && isFault(error, "session_not_found");
			throw isOther && state !== "in no fleet" ? noFleet(state, "session") : error;
		}
	};

	tools(sets?: readonly ToolSet[]) {
		return this.#client.tools(sets);
	}

	events(options: EventsOptions) {
		return this.#client.events(options);
	}

	output(session: string, options: OutputOptions) {
		return this.#client.output(session, options);
	}

	snapshot(session: string, options?: SnapshotOptions) {
		return this.#client.snapshot(session, options);
	}

	view(session: string, options: ViewOptions) {
		return this.#client.view(session, options);
	}

	drawn(session: string, options: DrawnOptions) {
		return this.#client.drawn(session, options);
	}

	act(session: string, act: PersonAct) {
		return this.#client.act(session, act);
	}

	drivers(session: string, options: DriversOptions) {
		return this.#client.drivers(session, options);
	}

	/** Unlike the others it goes on with the fleet that is joined, and without the one that is left: whoever watches stays. */
	async *people({ signal, ...options }: PeopleOptions): AsyncGenerator<ListChange> {
		for (let isOver = false; !isOver && !signal.aborted; ) {
			const state = this.#state();
			const client = this.#client;
			const over = new AbortController();
			const undo = [
				onAbort(signal)(() => over.abort()),
				this.#onChange(() => (this.#client !== client || isAway(this.#state()) !== isAway(state)) && over.abort()),
			];
			try {
				for await (const change of client.people({ ...options, signal: over.signal }))
					yield isAway(state) && change.full && options.scope == null ? { ...change, fleet: unseen(state) } : change;
				isOver = !over.signal.aborted;
			} finally {
				for (const each of undo) each();
			}
		}
	}

	approvals(): Promise<readonly Approval[]> {
		return this.#client.approvals();
	}

	decide(id: string, decision: Decision): Promise<Approval> {
		return this.#client.decide(id, decision);
	}

	status() {
		return this.#local.status();
	}

	/** Both clients are others' to dispose of. */
	async [Symbol.asyncDispose](): Promise<void> {}
}

type Away = Extract<FleetState, { problem: string }>;

const isAway = (state: FleetState): state is Away => typeof state === "object" && "problem" in state;

/** A fleet that was not reached since the daemon has started. */
const unseen = ({ host, since }: Away): FleetSeen => ({ host: host ?? NO_HOST, awaySince: since, hosts: [] });

const noFleet = (state: Exclude<FleetState, { client: Client }>, field: string) =>
	state === "in no fleet"
		? new Fault("not_in_fleet", { what: `\`${field}\`` })
		: new Fault("fleet_unreachable", { problem: state.problem, since: state.since });
