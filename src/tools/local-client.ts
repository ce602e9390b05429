// A Client in this process: checks the input, runs the tool, makes the text.

import { type CleanLine, joined, stacked } from "../protocol/clean.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import { Fault, type FaultCode } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import type { OutputChunk } from "../protocol/output.ts";
import type { Places } from "../pty/places.ts";
import { homeFault } from "../pty/private-directory.ts";
import { type Condition, onAbort, type Subscribe, settled, until, wait } from "../pty/wait.ts";
import { limits } from "../session/options.ts";
import type { Sessions } from "../session/sessions.ts";
import { repaint, repaintText } from "../terminal/repaint.ts";
import { acceptInput } from "./accept-input.ts";
import { findTool, refusal, toolCards, toolNames } from "./catalogue.ts";
import type {
	Answer,
	CallOptions,
	Client,
	DaemonStatus,
	EventsOptions,
	OutputOptions,
	ScreenSnapshot,
	ToolSet,
} from "./client.ts";
import type { Caller, Tool } from "./tool.ts";

const OUTPUT_PIECE_BYTES = 64 * 1024;
/** Thrown whatever the tool: a client that reaches the next daemon repeats the call. */
const UNSHAPED: ReadonlySet<FaultCode> = new Set(["no_daemon", "daemon_replaced", "taken_over"]);

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
	readonly #stopped = new Listeners<void>("client stopped");

	constructor(parts: LocalClientParts) {
		this.#parts = parts;
	}

	readonly call: Client["call"] = async (name: string, input: unknown, options: CallOptions = {}): Promise<Answer> => {
		try {
			return await this.#call(name, input, options);
		} catch (error) {
			if (!(error instanceof Fault) || UNSHAPED.has(error.code)) throw error;
			const { sessions, caller } = this.#parts;
			const told = refusal(name, error, input, { sessions, caller: options.caller ?? caller });
			if (told instanceof Fault) throw told;
			return told;
		}
	};

	async #call(name: string, input: unknown, options: CallOptions): Promise<Answer> {
		const startedAt = performance.now();
		const { sessions } = this.#parts;
		const caller = options.caller ?? this.#parts.caller;
		if (caller.owner.length > limits.ownerChars)
			throw new Fault("bad_input", { problems: [`the caller's name has more than ${limits.ownerChars} characters`] });
		const tool = findTool(name, input);
		if (tool === undefined) throw new Fault("unknown_tool", { tool: name, tools: toolNames() });
		const { input: accepted, notices } = acceptInput(tool, input, caller);
		const signal = options.signal ?? new AbortController().signal;
		const run = tool
			.run(accepted, { sessions, caller, signal, startedAt, answerWithinMs: options.answerWithinMs })
			.catch((error: unknown) => {
				throw homeFault(error, this.#parts.places) ?? error;
			});
		const facts = await this.#untilStopped(run, { doing: name, repeatable: tool.effect === "reads" });
		return withNotices(tool, facts, notices);
	}

	/** A call that is cut off by the end of this client ends in words that its caller can use. */
	#untilStopped<T>(run: Promise<T>, facts: { doing: string; repeatable: boolean }): Promise<T> {
		const stopped: Condition<T> = {
			start: ({ own, fail }) => own(this.#stopped.add(() => fail(new Fault("daemon_replaced", facts)))),
		};
		return wait([settled(run), stopped]);
	}

	async tools(sets: readonly ToolSet[] = ["native"]) {
		return toolCards(sets);
	}

	async *events({ afterSeq, signal }: EventsOptions): AsyncGenerator<SessionEvent | EventsDropped> {
		const { events } = this.#parts.sessions;
		const onEvent: Subscribe = (listener) => events.onEvent(listener);
		// A number from another daemon's time may be larger than any of ours.
		for (let at = Math.min(afterSeq ?? events.seq, events.seq); !signal.aborted; ) {
			const next = events.after(at);
			if (next === null) await until(() => signal.aborted || events.seq > at, onAbort(signal), onEvent);
			else {
				at = next.seq;
				yield next;
			}
		}
	}

	/** A cursor into the journal: a reader that is slow or stops delays no other. */
	async *output(reference: string, { from, signal }: OutputOptions): AsyncGenerator<OutputChunk> {
		const session = await this.#parts.sessions.find(reference);
		const changes: readonly Subscribe[] = [
			onAbort(signal),
			(listener) => session.onOutput(listener),
			(listener) => session.onEnded(listener),
		];
		const done = session.use();
		try {
			for (let at = from; !signal.aborted; ) {
				const { end } = session.journal;
				if (at >= end) {
					if (session.ended) return;
					await until(() => signal.aborted || session.ended || session.journal.end > at, ...changes);
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
		} finally {
			done();
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
		this.#stopped.emit();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.interrupt();
		await this.#parts.sessions[Symbol.asyncDispose]();
	}
}

/** What was changed in the input, in the facts and in the text, whichever tool it is. */
function withNotices(tool: Tool, facts: object, notices: readonly CleanLine[]): Answer {
	if (notices.length === 0) return { facts, text: tool.render(facts) };
	const { notices: earlier = [] } = facts as { readonly notices?: readonly CleanLine[] };
	// A list has no room for them.
	const all = Array.isArray(facts) ? facts : { ...facts, notices: [...earlier, ...notices] };
	const text = tool.render(all);
	const untold = notices.filter((notice) => !text.includes(notice));
	return { facts: all, text: untold.length === 0 ? text : stacked([text, joined(untold, " · ")]) };
}
