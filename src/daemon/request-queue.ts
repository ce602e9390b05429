// The requests of one connection: started in order, one per turn of the event loop, and
// only while its client reads the answers. So a thousand requests in one write cost the
// other clients one request at a time, and answers wait unasked rather than in memory.

import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { Listeners } from "../protocol/listeners.ts";
import { until } from "../pty/wait.ts";
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
	/** The client has read, is gone, or has got an answer. */
	readonly #changed = new Listeners<void>("request queue");
	#starting = false;
	#quick = 0;

	constructor(socket: Socket) {
		this.#socket = socket;
		for (const event of ["drain", "close"]) socket.on(event, () => this.#changed.emit());
	}

	/** Starts it at once where nothing is ahead of it. */
	add(request: Queued): void {
		this.#queued.push(request);
		if (!this.#starting) void this.#start();
	}

	/** Settles when the client has read its answers, or is gone. */
	async drained(): Promise<void> {
		await this.#until(() => !this.#unread());
	}

	async #start(): Promise<void> {
		this.#starting = true;
		for (let next = this.#queued.shift(); next !== undefined; next = this.#queued.shift()) {
			const { quick } = next;
			await this.#until(() => !this.#unread() && (!quick || this.#quick < limits.quickRequests));
			this.#run(next);
			await setImmediate();
		}
		this.#starting = false;
	}

	#run({ quick, start }: Queued): void {
		if (quick) this.#quick++;
		void start().then(() => {
			if (!quick) return;
			this.#quick--;
			this.#changed.emit();
		});
	}

	#unread(): boolean {
		return !this.#socket.destroyed && this.#socket.writableLength > limits.unreadBytes;
	}

	async #until(holds: () => boolean): Promise<void> {
		if (!holds()) await until(holds, (listener) => this.#changed.add(listener));
	}
}
