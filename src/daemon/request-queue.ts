// The requests of one connection: started in order, one per turn of the event loop, and
// only while its client reads the answers. So a thousand requests in one write cost the
// other clients one request at a time, and answers wait unasked rather than in memory.

import type { Socket } from "node:net";
import { limits } from "../session/options.ts";

interface Queued {
	/** Answered without waiting for a program: only a few of these run at once. */
	readonly quick: boolean;
	/** Never rejects. */
	readonly start: () => Promise<void>;
}

export class RequestQueue {
	readonly #socket: Socket;
	readonly #queued: Queued[] = [];
	readonly #waiting = new Set<() => void>();
	#starting = false;
	#quick = 0;

	constructor(socket: Socket) {
		this.#socket = socket;
		socket.on("drain", () => this.#wake());
		socket.on("close", () => this.#wake());
	}

	/** Starts it at once where nothing is ahead of it. */
	add(request: Queued): void {
		this.#queued.push(request);
		if (!this.#starting) void this.#start();
	}

	/** Settles when the client has read its answers, or is gone. */
	async drained(): Promise<void> {
		while (this.#unread()) await this.#change();
	}

	async #start(): Promise<void> {
		this.#starting = true;
		for (let next = this.#queued.shift(); next !== undefined; next = this.#queued.shift()) {
			while (this.#unread() || (next.quick && this.#quick >= limits.quickRequests)) await this.#change();
			this.#run(next);
			await new Promise((resolve) => setImmediate(resolve));
		}
		this.#starting = false;
	}

	#run({ quick, start }: Queued): void {
		if (quick) this.#quick++;
		void start().then(() => {
			if (!quick) return;
			this.#quick--;
			this.#wake();
		});
	}

	#unread(): boolean {
		return !this.#socket.destroyed && this.#socket.writableLength > limits.unreadBytes;
	}

	#change(): Promise<void> {
		return new Promise((resolve) => this.#waiting.add(resolve));
	}

	#wake(): void {
		const waiting = [...this.#waiting];
		this.#waiting.clear();
		for (const resolve of waiting) resolve();
	}
}
