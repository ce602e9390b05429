// One connection to a holder: hello, requests and their answers, frames in order.
//
// It knows the socket and nothing of the terminal's life: what to do when it
// breaks is holder-pty.ts.

import { connect, type Socket } from "node:net";
import { FrameDecoder } from "../protocol/frame-decoder.ts";
import { type HolderFrame, helloFrame, type Welcome } from "../protocol/frames.ts";
import type { KernelFacts } from "../protocol/kernel-facts.ts";
import { PtyIoError } from "./errors.ts";

/**
 * Bytes that one session may hand on before the others have their turn. libuv
 * would read up to 2 MB from one socket before it looks at the next: 70 ms of
 * emulator work during which no other session is heard.
 */
const TURN_BYTES = 128 * 1024;
/** A holder answers in microseconds; one that is stopped or swapped out gets this long. */
const HELLO_TIMEOUT_MS = 10_000;
/** HELLO has no request number: what is refused before the welcome is refused under this one. */
const HELLO = 0;

export interface HolderSocketOptions {
	readonly socketPath: string;
	readonly owner: boolean;
	readonly epoch: bigint;
	/** In the same breath as it is heard, so that no frame can come before it. */
	readonly onWelcome: (connection: HolderSocket, welcome: Welcome) => void;
	/** Everything but the answers to requests. */
	readonly onFrame: (frame: HolderFrame) => void;
	/** Once, after the last frame; not when we hung up ourselves. */
	readonly onClose: () => void;
}

type Answer = Extract<HolderFrame, { type: "welcome" | "done" | "facts" }>;
interface PendingRequest {
	readonly resolve: (answer: Answer) => void;
	readonly reject: (error: Error) => void;
}

/** The code of requests whose answer was lost with the connection: they may have been done. */
export const DISCONNECTED = "disconnected";

export class HolderSocket {
	readonly #options: HolderSocketOptions;
	readonly #socket: Socket;
	readonly #pending = new Map<number, PendingRequest>();
	readonly #decoder = new FrameDecoder((frame) => this.#hear(frame));
	#lastRequest = HELLO;
	#sinceYield = 0;
	#over = false;

	/** Rejects with the holder's refusal, or with what the socket says (ENOENT, ECONNREFUSED). */
	static async open(options: HolderSocketOptions): Promise<HolderSocket> {
		const connection = new HolderSocket(options);
		const slow = setTimeout(
			() => connection.#end(new PtyIoError("silent", "the holder does not answer")),
			HELLO_TIMEOUT_MS,
		);
		try {
			await connection.#ask(HELLO, helloFrame(options));
			return connection;
		} finally {
			clearTimeout(slow);
		}
	}

	private constructor(options: HolderSocketOptions) {
		this.#options = options;
		this.#socket = connect({ path: options.socketPath })
			.on("data", (chunk) => this.#read(chunk))
			.on("error", (error) => this.#end(error))
			.on("close", () => this.#end(new PtyIoError(DISCONNECTED, "the holder hung up")));
	}

	/** Says something that has no answer. */
	send(frame: Uint8Array): void {
		if (!this.#over) this.#socket.write(frame);
	}

	/** Says something under a new number and waits for its answer; a refusal rejects. */
	async done(frame: (request: number) => Uint8Array): Promise<number> {
		const answer = await this.#request(frame);
		return answer.type === "done" ? answer.value : 0;
	}

	async facts(frame: (request: number) => Uint8Array): Promise<KernelFacts> {
		const answer = await this.#request(frame);
		if (answer.type !== "facts") throw new PtyIoError("bad_frame", "the holder answered something else");
		return answer.facts;
	}

	/** Hangs up; the terminal goes on. */
	close(): void {
		this.#over = true;
		this.#socket.destroy();
		this.#rejectAll(new PtyIoError(DISCONNECTED, "we hung up"));
	}

	#request(frame: (request: number) => Uint8Array): Promise<Answer> {
		this.#lastRequest = (this.#lastRequest % 0xffff_ffff) + 1;
		return this.#ask(this.#lastRequest, frame(this.#lastRequest));
	}

	#ask(request: number, frame: Uint8Array): Promise<Answer> {
		if (this.#over) return Promise.reject(new PtyIoError(DISCONNECTED, "the connection is closed"));
		return new Promise((resolve, reject) => {
			this.#pending.set(request, { resolve, reject });
			this.#socket.write(frame);
		});
	}

	#read(chunk: Uint8Array): void {
		this.#sinceYield += chunk.length;
		if (this.#sinceYield >= TURN_BYTES) {
			this.#sinceYield = 0;
			this.#socket.pause();
			setImmediate(() => this.#socket.resume());
		}
		try {
			this.#decoder.push(chunk);
		} catch (error) {
			this.#end(error as Error);
		}
	}

	#hear(frame: HolderFrame): void {
		if (this.#over) return;
		if (frame.type === "welcome") {
			this.#options.onWelcome(this, frame.welcome);
			this.#take(HELLO)?.resolve(frame);
		} else if (frame.type === "refused") this.#take(frame.request)?.reject(PtyIoError.from(frame.refusal));
		else if (frame.type === "done") this.#take(frame.request)?.resolve(frame);
		else {
			// Facts that were asked for are told like those that are pushed: only here their order is known.
			this.#options.onFrame(frame);
			if (frame.type === "facts" && frame.request !== 0) this.#take(frame.request)?.resolve(frame);
		}
	}

	#take(request: number): PendingRequest | undefined {
		const found = this.#pending.get(request);
		this.#pending.delete(request);
		return found;
	}

	#end(error: Error): void {
		if (this.#over) return;
		this.#over = true;
		this.#socket.destroy();
		const welcomed = !this.#pending.has(HELLO);
		this.#rejectAll(error);
		if (welcomed) this.#options.onClose();
	}

	#rejectAll(error: Error): void {
		for (const request of this.#pending.values()) request.reject(error);
		this.#pending.clear();
	}
}
