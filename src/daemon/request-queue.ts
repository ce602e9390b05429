// The requests of one connection: read and started in order, one per turn of the connection
// (turns.ts), and only while its client reads the answers. So a thousand requests in one write
// cost the other clients one request at a time, and what waits is not parsed, let alone computed.

import type { Duplex } from "node:stream";
import { faultAt, guarded } from "../protocol/boundary.ts";
import { Listeners } from "../protocol/listeners.ts";
import { until } from "../pty/wait.ts";
import { limits } from "../session/options.ts";
import { Messages } from "./messages.ts";
import type { Served, Turns } from "./turns.ts";

interface Queued {
	/** Answered without waiting for a program: only a few of these run at once. */
	readonly quick: boolean;
	/** Never rejects. */
	readonly start: () => Promise<void>;
}

/** What the queues of all connections share. */
export interface SharedQueue {
	readonly turns: Turns;
	/** Quick requests that run. */
	quick: number;
}

export interface Reader {
	/** The value of a line. */
	readonly onLine: (value: unknown) => void;
	/** The client breaks the protocol. */
	readonly onBad: (problem: string) => void;
	/** How much of an incomplete line is held. */
	readonly onHeld: (bytes: number) => void;
}

export class RequestQueue implements Served {
	readonly #socket: Duplex;
	readonly #shared: SharedQueue;
	readonly #reader: Reader;
	readonly #lines = new Messages({ framed: false });
	readonly #queued: Queued[] = [];
	/** The client has read, or is gone. */
	readonly #read = new Listeners<void>("request queue");
	#quick = 0;

	constructor(socket: Duplex, shared: SharedQueue, reader: Reader) {
		this.#socket = socket;
		this.#shared = shared;
		this.#reader = reader;
		const arrived = (chunk: Buffer) => {
			this.#lines.add(chunk);
			socket.pause(); // until this is read, the rest stays with the kernel
			shared.turns.enter(this);
		};
		socket.on("data", guarded("data on the daemon's socket", arrived));
		for (const event of ["drain", "close"]) {
			socket.on(event, () => {
				this.#read.emit();
				this.#shared.turns.look();
			});
		}
		socket.on("close", () => shared.turns.leave(this));
	}

	/** Starts it when it is its turn. */
	add(request: Queued): void {
		this.#queued.push(request);
	}

	/** Settles when the client has read its answers, or is gone. */
	async drained(): Promise<void> {
		if (this.#unread())
			await until(
				() => !this.#unread(),
				(listener) => this.#read.add(listener),
			);
	}

	canStep(): boolean {
		return !this.#unread() && (this.#mayStart() || !this.#lines.isEmpty);
	}

	/** Starts the next request; where none can be, takes a line, because it may cancel one, and starts what it asks for. */
	step(): void {
		if (!this.#mayStart()) this.#takeLine();
		if (this.#mayStart()) this.#run(this.#queued.shift()!);
		if (this.#queued.length === 0 && this.#lines.isEmpty) this.#shared.turns.leave(this);
	}

	#takeLine(): void {
		try {
			this.#take();
		} catch (error) {
			this.#reader.onBad(faultAt("a line on the daemon's socket", error).message);
		}
	}

	#take(): void {
		const { onLine, onBad, onHeld } = this.#reader;
		const line = this.#lines.next();
		if (line !== null && "problem" in line) onBad(line.problem);
		else if (line !== null) onLine(line.value);
		if (!this.#lines.isEmpty || this.#socket.destroyed) return;
		onHeld(this.#lines.heldBytes);
		this.#socket.resume();
	}

	/** One of its own at a time each client may always have: a few that hang with one client delay no other. */
	#mayStart(): boolean {
		const next = this.#queued[0];
		if (next === undefined || !next.quick || this.#quick === 0) return next !== undefined;
		return this.#quick < limits.quickRequests && this.#shared.quick < limits.quickRequests;
	}

	#run({ quick, start }: Queued): void {
		if (!quick) return void start();
		this.#quick++;
		this.#shared.quick++;
		void start().then(() => {
			this.#quick--;
			this.#shared.quick--;
			this.#shared.turns.look();
		});
	}

	#unread(): boolean {
		return !this.#socket.destroyed && this.#socket.writableLength > limits.unreadBytes;
	}
}
