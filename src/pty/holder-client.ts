// A connection to a holder for as long as there is a holder: opened, and opened
// again when it breaks, until the holder is gone or we let go.

import { setTimeout as delay } from "node:timers/promises";
import type { HolderFrame, Welcome } from "../protocol/frames.ts";
import { PtyDiedError } from "./errors.ts";
import { DISCONNECTED, HolderSocket } from "./holder-socket.ts";

/** At first at once: a quick program's holder may go just as we knock (ECONNRESET), and then its log is all we need. */
const RETRY_MS = { first: 1, most: 1000 };
/** The first time nobody is served yet, so a holder that cannot be reached is soon an error. */
const FIRST_TRIES = 10;
/** Nobody is behind the socket any more. */
const GONE: ReadonlySet<string | undefined> = new Set(["ENOENT", "ECONNREFUSED", "ENOTDIR"]);

export interface HolderClientOptions {
	readonly socketPath: string;
	readonly epoch: bigint;
	/** On the first connection and on every later one, before anything else is said on it. */
	readonly onWelcome: (welcome: Welcome) => void;
	readonly onFrame: (frame: HolderFrame) => void;
	/** A newer owner is there; reading goes on. */
	readonly onFenced: () => void;
	/** The last frame was heard. Once, and only after a first welcome. */
	readonly onGone: () => void;
}

export class HolderClient {
	readonly #options: HolderClientOptions;
	#now: HolderSocket | null = null;
	#opening: Promise<HolderSocket | null> | null = null;
	#fenced = false;
	#over = false;

	constructor(options: HolderClientOptions) {
		this.#options = options;
	}

	/** False when nobody is there. */
	async open(): Promise<boolean> {
		this.#opening = this.#connect(FIRST_TRIES);
		return (await this.#opening) !== null;
	}

	/** Says something that has no answer; not said at all while there is no connection. */
	send(frame: Uint8Array): void {
		this.#now?.send(frame);
	}

	/** Asks on the connection there is or will be; an answer lost with it is an error. */
	async ask<T>(question: (connection: HolderSocket) => Promise<T>): Promise<T> {
		const connection = this.#now ?? (await this.#opening);
		if (connection === null) throw new PtyDiedError();
		return await question(connection);
	}

	/** Asks until it is answered: for what may be said twice. */
	async persist<T>(question: (connection: HolderSocket) => Promise<T>): Promise<T> {
		for (;;) {
			try {
				return await this.ask(question);
			} catch (error) {
				if (this.#over || !isDisconnection(error)) throw error;
			}
		}
	}

	close(): void {
		this.#over = true;
		this.#now?.close();
		this.#now = null;
		this.#opening = Promise.resolve(null);
	}

	async #connect(tries: number): Promise<HolderSocket | null> {
		for (let wait = RETRY_MS.first, left = tries; !this.#over; wait = Math.min(wait * 2, RETRY_MS.most)) {
			try {
				return await this.#tryOnce();
			} catch (error) {
				const { code } = error as NodeJS.ErrnoException;
				if (GONE.has(code)) return null;
				if (code === "fenced") this.#fence();
				else if (--left <= 0 || code === "version") throw error;
				else await delay(wait);
			}
		}
		return null;
	}

	#tryOnce(): Promise<HolderSocket> {
		const { socketPath, epoch, onWelcome, onFrame } = this.#options;
		return HolderSocket.open({
			socketPath,
			epoch,
			owner: !this.#fenced,
			onWelcome: (connection, welcome) => {
				if (this.#over) return connection.close();
				this.#now = connection;
				onWelcome(welcome);
			},
			onFrame: (frame) => (frame.type === "fenced" ? this.#fence() : onFrame(frame)),
			onClose: () => void this.#reopen(),
		});
	}

	async #reopen(): Promise<void> {
		this.#now = null;
		if (this.#over) return;
		// A version that does not fit cannot appear here: it is the same holder.
		this.#opening = this.#connect(Number.POSITIVE_INFINITY).catch(() => null);
		if ((await this.#opening) === null && !this.#over) this.#options.onGone();
	}

	#fence(): void {
		if (this.#fenced) return;
		this.#fenced = true;
		this.#options.onFenced();
	}
}

function isDisconnection(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === DISCONNECTED || code === "EPIPE" || code === "ECONNRESET";
}
