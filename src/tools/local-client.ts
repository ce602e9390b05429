// A Client in this process: checks the input, runs the tool, makes the text.

import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { Places } from "../pty/places.ts";
import { homeFault } from "../pty/private-directory.ts";
import { limits } from "../session/options.ts";
import type { Sessions } from "../session/sessions.ts";
import { repaint, repaintText } from "../terminal/repaint.ts";
import { type FactsOf, findTool, type InputOf, type ToolName, toolCards, toolNames } from "./catalogue.ts";
import type { Answer, CallOptions, Client, DaemonStatus, ForeignName, ScreenSnapshot, ToolSet } from "./client.ts";
import type { Caller } from "./tool.ts";

const OUTPUT_PIECE_BYTES = 64 * 1024;

export interface LocalClientParts {
	readonly sessions: Sessions;
	/** Where they keep their files: what a call fails with when these cannot be written is a fault of the home. */
	readonly places: Pick<Places, "state" | "run">;
	/** The caller of calls that name none. */
	readonly caller: Caller;
	readonly status: () => DaemonStatus;
}

export class LocalClient implements Client {
	readonly #parts: LocalClientParts;
	/** Ends each call that has not been answered. */
	readonly #pending = new Set<() => void>();

	constructor(parts: LocalClientParts) {
		this.#parts = parts;
	}

	call<N extends ToolName>(name: N, input: InputOf<N>, options?: CallOptions): Promise<Answer<FactsOf<N>>>;
	call<N extends string>(name: ForeignName<N>, input: unknown, options?: CallOptions): Promise<Answer>;
	async call(name: string, input: unknown, options: CallOptions = {}): Promise<Answer> {
		const startedAt = performance.now();
		const { sessions } = this.#parts;
		const caller = options.caller ?? this.#parts.caller;
		if (caller.owner.length > limits.ownerChars)
			throw new Fault("bad_input", { problems: [`the caller's name has more than ${limits.ownerChars} characters`] });
		const tool = findTool(name);
		if (tool === undefined) throw new Fault("unknown_tool", { tool: name, tools: toolNames() });
		if (!hasFewValues(input)) throw new Fault("bad_input", { problems: [`more than ${limits.inputValues} values`] });
		const parsed = tool.input.safeParse(input === undefined ? {} : input);
		if (!parsed.success) {
			throw new Fault("bad_input", {
				problems: parsed.error.issues.slice(0, 10).map(({ path, message }) => {
					const where = path.join(".").slice(0, limits.lineChars); // a key may be any text
					return where === "" ? message : `${where}: ${message}`;
				}),
			});
		}
		const signal = options.signal ?? new AbortController().signal;
		const run = tool.run(parsed.data, { sessions, caller, signal, startedAt }).catch((error: unknown) => {
			throw homeFault(error, this.#parts.places) ?? error;
		});
		const facts = await this.#untilStopped(run, { doing: name, repeatable: tool.effect === "reads" });
		return { facts, text: tool.render(facts) };
	}

	/** A call that is cut off by the end of this client ends in words that its caller can use. */
	#untilStopped<T>(run: Promise<T>, facts: { doing: string; repeatable: boolean }): Promise<T> {
		return new Promise((resolve, reject) => {
			const stop = () => reject(new Fault("daemon_replaced", facts));
			this.#pending.add(stop);
			run.then(resolve, reject).finally(() => this.#pending.delete(stop));
		});
	}

	async tools(sets: readonly ToolSet[] = ["native"]) {
		return toolCards(sets);
	}

	async *events({
		afterSeq,
		signal,
	}: {
		afterSeq?: number;
		signal: AbortSignal;
	}): AsyncGenerator<SessionEvent | EventsDropped> {
		const { events } = this.#parts.sessions;
		using wakeup = new Wakeup(signal, (notify) => [events.onEvent(notify)]);
		// A number from another daemon's time may be larger than any of ours.
		for (let at = Math.min(afterSeq ?? events.seq, events.seq); !signal.aborted; ) {
			const next = events.after(at);
			if (next === null) await wakeup.wait();
			else {
				at = next.seq;
				yield next;
			}
		}
	}

	/** A cursor into the journal: a reader that is slow or stops delays no other. */
	async *output(
		reference: string,
		{ from, signal }: { from: number; signal: AbortSignal },
	): AsyncGenerator<OutputChunk> {
		const session = await this.#parts.sessions.find(reference);
		using wakeup = new Wakeup(signal, (notify) => [session.onOutput(notify), session.onEnded(notify), session.use()]);
		for (let at = from; !signal.aborted; ) {
			const { end } = session.journal;
			if (at >= end) {
				if (session.ended) return;
				await wakeup.wait();
				continue;
			}
			const kept = await session.journal.nextKept(at);
			if (kept > at) {
				yield { gap: { from: at, to: kept } };
				at = kept;
				continue;
			}
			const excerpt = await session.journal.read(at, Math.min(end, at + OUTPUT_PIECE_BYTES));
			const pieces: OutputChunk[] = [...excerpt.chunks, ...excerpt.gaps.map((gap) => ({ gap }))];
			const start = (piece: OutputChunk) => ("gap" in piece ? piece.gap.from : piece.offset);
			yield* pieces.sort((a, b) => start(a) - start(b));
			at = excerpt.to;
		}
	}

	async snapshot(reference: string): Promise<ScreenSnapshot> {
		const { screen } = await this.#parts.sessions.find(reference);
		const { cols, rows, offset } = screen;
		const state = screen.serialize();
		return { content: state === null ? repaintText(screen.snapshot().text) : repaint(state), cols, rows, offset };
	}

	async type(reference: string, bytes: Uint8Array, id?: string): Promise<void> {
		const session = await this.#parts.sessions.find(reference);
		await session.type(bytes, id === undefined ? {} : { id });
	}

	async status(): Promise<DaemonStatus> {
		return this.#parts.status();
	}

	/** Ends the calls that have not been answered. */
	interrupt(): void {
		for (const stop of this.#pending) stop();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.interrupt();
		await this.#parts.sessions[Symbol.asyncDispose]();
	}
}

/** Checked before each value is: a hundred thousand variables would take a quarter of a second. */
function hasFewValues(input: unknown): boolean {
	const rest: unknown[] = [input];
	for (let count = 0; rest.length > 0; count++) {
		const value = rest.pop();
		const inner = typeof value === "object" && value !== null ? Object.values(value) : [];
		if (count + rest.length + inner.length > limits.inputValues) return false;
		rest.push(...inner);
	}
	return true;
}

/**
 * Wakes one waiter when it is notified or the caller goes away; a notification while nobody waits is not lost. The
 * subscriptions end with the caller, also while the generator that made them is suspended at a `yield`.
 */
class Wakeup implements Disposable {
	readonly #signal: AbortSignal;
	readonly #subscriptions: readonly (() => void)[];
	readonly #stop = () => this[Symbol.dispose]();
	#notified = false;
	#wake = () => {};

	constructor(signal: AbortSignal, subscribe: (notify: () => void) => readonly (() => void)[]) {
		this.#signal = signal;
		this.#subscriptions = subscribe(() => this.#notify());
		signal.addEventListener("abort", this.#stop);
		if (signal.aborted) this.#stop();
	}

	async wait(): Promise<void> {
		if (!this.#notified) {
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
		this.#notified = false;
	}

	[Symbol.dispose](): void {
		this.#signal.removeEventListener("abort", this.#stop);
		for (const unsubscribe of this.#subscriptions) unsubscribe();
		this.#notify();
	}

	#notify(): void {
		this.#notified = true;
		this.#wake();
	}
}
