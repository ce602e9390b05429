// A reconnecting client of one holder: requests with deadlines, answers matched to
// them, frames in order.
//
// It reports what happens to the connection and decides nothing about the
// terminal: what an event means is in pty-state.ts, what a frame means is in
// holder-pty.ts.

import { connect, type Socket } from "node:net";
import { FrameDecoder } from "../protocol/frame-decoder.ts";
import { type HolderFrame, helloFrame, type Welcome } from "../protocol/frames.ts";
import { reportError } from "../protocol/listeners.ts";
import { PtyDiedError, type PtyError, PtyIoError } from "./errors.ts";
import type { PtyEvent } from "./pty-state.ts";
import { type WaitScope, wait } from "./wait.ts";

/**
 * Bytes that one session may deliver before the others have their turn. libuv
 * would read up to 2 MB from one socket before it looks at the next: 70 ms of
 * emulator work during which no other session is read.
 */
const TURN_BYTES = 128 * 1024;
/** A holder answers in microseconds. One that sends nothing for this long while a request waits is stopped or stuck. */
export const SILENCE_MS = 2000;
/** The limit for a request whose holder keeps sending other frames: a flood may delay the answer. */
const ANSWER_MS = 30_000;
/** A holder that is ready to run but gets no processor is neither stopped nor stuck: it gets this long. */
const STARVED_MS = 10_000;
/** A timer this late means that our own loop was held up; the answer may be in the socket already. */
const LATE_MS = 250;
/** The first retry is immediate: a short program's holder may exit just as we connect (ECONNRESET); its log has everything. */
const RETRY_MS = { first: 1, most: 1000 };
/** After a malformed frame: the next connection may well get the same one. */
const BAD_FRAME_RETRY_MS = { first: 100, most: 5000 };
/** Errors of connect(2) that mean that no process listens on the socket: the holder is dead, or its socket was removed. */
export const GONE: ReadonlySet<string> = new Set(["ENOENT", "ECONNREFUSED", "ENOTDIR"]);
/** Refusals that the next attempt would get too. */
const FINAL: ReadonlySet<string> = new Set(["version", "denied"]);
/** The code of requests that fail because the connection broke or was closed. */
export const DISCONNECTED = "disconnected";
/** HELLO has no request number: what is refused before the welcome is refused under this one. */
const HELLO = 0;

export type Answer = Extract<HolderFrame, { type: "done" | "facts" }>;

interface Request {
	readonly frame: Uint8Array;
	/** Null for HELLO: what becomes of it is an event. */
	readonly caller: WaitScope<Answer> | null;
	readonly since: number;
	readonly silenceMs: number;
	readonly repeat: boolean;
	/** On some connection: it may have arrived. */
	sent: boolean;
	/** It is to be sent on the next connection. */
	waits: boolean;
}

export interface HolderClientOptions {
	readonly socketPath: string;
	readonly epoch: bigint;
	/** Null: an older holder, which asks for none. */
	readonly secret: Uint8Array | null;
	/** No reconnects once this is true. */
	readonly isOver: () => boolean;
	readonly onChange: (event: Extract<PtyEvent, "responded" | "silent" | "disconnected" | "fenced" | "gone">) => void;
	/** On the first connection and on every later one, before anything is sent on it. */
	readonly onWelcome: (welcome: Welcome) => void;
	/** Everything but welcomes, refusals and acknowledgements. */
	readonly onFrame: (frame: HolderFrame) => void;
	/** Nothing listens on the socket. True when the holder lives all the same, and has been told to listen again. */
	readonly listenAgain: () => boolean;
	/** The holder waits for a processor on a busy machine. */
	readonly isStarved: () => boolean;
	/** The error for a request that the holder did not answer in time. */
	readonly unresponsive: (sent: boolean) => PtyError;
}

export class HolderClient {
	readonly #options: HolderClientOptions;
	readonly #pending = new Map<number, Request>();
	#socket: Socket | null = null;
	/** The holder has answered HELLO on this connection. */
	#welcomed = false;
	/** False once a newer owner is there: then we connect as a reader. */
	#owner = true;
	#opening: { readonly caller: WaitScope<boolean>; triesLeft: number } | null = null;
	#lastRequest = HELLO;
	#sinceYield = 0;
	#lastReceivedAt = performance.now();
	#unansweredSince: number | null = null;
	#deadline: { readonly timer: NodeJS.Timeout; readonly at: number } | null = null;
	#retry: NodeJS.Timeout | null = null;
	#retryMs = RETRY_MS.first;
	#badFrames = 0;

	constructor(options: HolderClientOptions) {
		this.#options = options;
	}

	/** How long the oldest unanswered request has waited; 0 while the holder answers. */
	get silentMs(): number {
		return this.#unansweredSince === null ? 0 : Math.round(performance.now() - this.#unansweredSince);
	}

	/**
	 * True when a holder is there, also when it does not answer within SILENCE_MS: the connection then waits for it.
	 * False when there is none. Rejects after `tries` attempts that failed for another reason.
	 */
	open(tries: number): Promise<boolean> {
		const start = (caller: WaitScope<boolean>) => {
			this.#opening = { caller, triesLeft: tries };
			caller.own(() => {
				this.#opening = null;
			});
			this.#connect();
		};
		return wait([{ start }]);
	}

	/** Sends a frame that has no answer; dropped while there is no connection. */
	send(frame: Uint8Array): void {
		if (this.#welcomed) this.#socket?.write(frame);
	}

	/**
	 * Sends a request and waits for its answer; a refusal rejects. With `repeat` it is sent again on the next connection
	 * when its answer was lost: for what has the same effect twice.
	 */
	request(
		encode: (request: number) => Uint8Array,
		{ silenceMs = SILENCE_MS, repeat = false }: { silenceMs?: number; repeat?: boolean } = {},
	): Promise<Answer> {
		this.#lastRequest = (this.#lastRequest % 0xffff_ffff) + 1;
		const number = this.#lastRequest;
		const frame = encode(number);
		const start = (caller: WaitScope<Answer>) => {
			if (this.#options.isOver()) return caller.fail(new PtyIoError(DISCONNECTED, "the connection is closed"));
			const since = performance.now();
			const sent = this.#welcomed;
			this.#wait(number, { frame, caller, since, silenceMs, repeat, sent, waits: !sent });
			caller.own(() => this.#pending.delete(number));
			if (sent) this.#write(frame);
		};
		return wait([{ start }]);
	}

	/** What is sent at once arrives at once: one system call, and the holder reads all of it before it acts. */
	#write(frame: Uint8Array): void {
		const socket = this.#socket;
		if (socket === null) return;
		if (socket.writableCorked === 0) {
			socket.cork();
			queueMicrotask(() => socket.uncork());
		}
		socket.write(frame);
	}

	/** Closes the connection; the terminal stays open. */
	close(): void {
		this.#socket?.destroy();
		this.#socket = null;
		this.#welcomed = false;
		if (this.#retry !== null) clearTimeout(this.#retry);
		this.#opening?.caller.settle(false);
		this.#rejectAll((sent) => new PtyIoError(DISCONNECTED, "the connection was closed", { sent }));
	}

	#wait(number: number, request: Request): void {
		this.#pending.set(number, request);
		if (this.#deadline === null || request.since + request.silenceMs < this.#deadline.at)
			this.#checkAfter(Math.min(request.silenceMs, SILENCE_MS));
	}

	#connect(): void {
		this.#retry = null;
		const { socketPath, epoch, secret } = this.#options;
		const socket = connect({ path: socketPath });
		const decoder = new FrameDecoder((frame) => {
			// A listener may have closed us in the middle of a chunk.
			if (socket === this.#socket) this.#take(socket, frame);
		});
		this.#socket = socket;
		const frame = helloFrame({ owner: this.#owner, epoch, secret });
		socket.write(frame);
		// While attempts fail one after the other, the deadline counts from the first.
		if (!this.#pending.has(HELLO)) {
			const since = performance.now();
			this.#wait(HELLO, { frame, caller: null, since, silenceMs: SILENCE_MS, repeat: true, sent: true, waits: false });
		}
		socket
			.on("data", (chunk) => this.#read(socket, decoder, chunk))
			.on("error", (error) => this.#broken(socket, error))
			.on("close", () => this.#broken(socket, new PtyIoError(DISCONNECTED, "the holder closed the connection")));
	}

	#read(socket: Socket, decoder: FrameDecoder, chunk: Uint8Array): void {
		this.#lastReceivedAt = performance.now();
		if (this.#welcomed && this.#unansweredSince !== null) this.#responded();
		this.#sinceYield += chunk.length;
		if (this.#sinceYield >= TURN_BYTES) {
			this.#sinceYield = 0;
			socket.pause();
			setImmediate(() => socket.resume());
		}
		try {
			decoder.push(chunk);
		} catch (error) {
			reportError(error, "holder frame");
			this.#badFrames++;
			this.#broken(socket, error as Error);
		}
	}

	#responded(): void {
		this.#unansweredSince = null;
		this.#options.onChange("responded");
	}

	#take(socket: Socket, frame: HolderFrame): void {
		switch (frame.type) {
			case "welcome":
				this.#welcomed = true;
				this.#retryMs = RETRY_MS.first;
				this.#pending.delete(HELLO);
				this.#responded();
				this.#options.onWelcome(frame.welcome);
				this.#sendWaiting();
				this.#opening?.caller.settle(true);
				break;
			case "refused":
				if (!this.#welcomed) this.#broken(socket, PtyIoError.from(frame.refusal));
				else this.#pending.get(frame.request)?.caller?.fail(PtyIoError.from(frame.refusal));
				break;
			case "done":
				this.#pending.get(frame.request)?.caller?.settle(frame);
				break;
			case "fenced":
				this.#fenced();
				break;
			case "facts":
				// Facts that were asked for are emitted like those that are pushed: only here their order is known.
				this.#options.onFrame(frame);
				this.#pending.get(frame.request)?.caller?.settle(frame);
				break;
			default:
				this.#options.onFrame(frame);
		}
	}

	#sendWaiting(): void {
		for (const request of this.#pending.values()) {
			if (!request.waits) continue;
			request.waits = false;
			request.sent = true;
			this.#socket?.write(request.frame);
		}
	}

	/** The connection ended, or could not be made. Opens the next one, unless there is nothing to connect to. */
	#broken(socket: Socket, error: NodeJS.ErrnoException): void {
		if (socket !== this.#socket) return;
		socket.destroy();
		const wasWelcomed = this.#welcomed;
		this.#socket = null;
		this.#welcomed = false;
		if (this.#options.isOver()) return;
		if (wasWelcomed) this.#options.onChange("disconnected");
		for (const request of this.#pending.values()) {
			if (request.repeat || request.waits) request.waits = true;
			else request.caller?.fail(new PtyIoError(DISCONNECTED, "the connection broke before the answer", { sent: true }));
		}
		if (GONE.has(error.code ?? "") && !this.#options.listenAgain()) this.#gone();
		else if (this.#opening !== null && (FINAL.has(error.code ?? "") || --this.#opening.triesLeft <= 0)) {
			this.#opening.caller.fail(error);
			this.close();
		} else if (error.code === "fenced") {
			this.#fenced();
			this.#connect();
		} else if (wasWelcomed && this.#badFrames === 0) this.#connect();
		else this.#connectLater();
	}

	#connectLater(): void {
		const { first, most } = BAD_FRAME_RETRY_MS;
		const ms = this.#badFrames === 0 ? this.#retryMs : Math.min(first * 2 ** this.#badFrames, most);
		this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
		this.#retry = setTimeout(() => this.#connect(), ms);
	}

	#gone(): void {
		this.#options.onChange("gone");
		this.#opening?.caller.settle(false);
		this.#rejectAll((sent) => new PtyDiedError({ sent }));
	}

	#fenced(): void {
		if (!this.#owner) return;
		this.#owner = false;
		this.#options.onChange("fenced");
	}

	// One timer for all requests: re-armed when it fires, so that a keystroke costs none.
	#checkAfter(ms: number): void {
		if (this.#deadline !== null) clearTimeout(this.#deadline.timer);
		const timer = setTimeout(() => this.#checkDeadlines(), ms);
		timer.unref();
		this.#deadline = { timer, at: performance.now() + ms };
	}

	#checkDeadlines(): void {
		const now = performance.now();
		const lateMs = now - (this.#deadline?.at ?? now);
		this.#deadline = null;
		let [oldest, next] = [now, Number.POSITIVE_INFINITY];
		for (const { since, silenceMs } of this.#pending.values()) {
			oldest = Math.min(oldest, since);
			next = Math.min(next, Math.max(since, this.#lastReceivedAt) + silenceMs, since + silenceMs + ANSWER_MS);
		}
		if (this.#pending.size === 0) return;
		if (next > now) {
			this.#checkAfter(next - now);
			return;
		}
		if (lateMs > LATE_MS || (now - next < STARVED_MS && this.#options.isStarved())) {
			this.#checkAfter(LATE_MS / 5);
			return;
		}
		this.#unansweredSince ??= oldest;
		this.#options.onChange("silent");
		this.#opening?.caller.settle(true);
		this.#rejectAll(this.#options.unresponsive);
	}

	/** No request is left, so there is no deadline: the next one gets its own. */
	#rejectAll(error: (sent: boolean) => PtyError): void {
		const requests = [...this.#pending.values()];
		this.#pending.clear();
		if (this.#deadline !== null) clearTimeout(this.#deadline.timer);
		this.#deadline = null;
		for (const { caller, sent } of requests) caller?.fail(error(sent));
	}
}
