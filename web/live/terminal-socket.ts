// The connection to one terminal: what the daemon sends, as calls on a viewer; what
// the person does, as messages. Reconnects by itself, continues a lease it holds, and
// acknowledges only what was drawn, so that a slow page never makes the daemon queue.

import { Backoff } from "./backoff.ts";
import type { Driver } from "./person-session.ts";

export interface TerminalSize {
	readonly cols: number;
	readonly rows: number;
}

export interface FaultWords {
	/** The code. */
	readonly fault?: string;
	readonly message: string;
	readonly next?: string;
	readonly facts?: { readonly who?: string };
}

/** What became of what a person gave: null when it was typed, otherwise why it was not. */
export type Outcome = FaultWords | null;

/** What the daemon says in text frames. */
type ServerMessage =
	| ({ readonly type: "snapshot"; readonly content: string; readonly offset: number } & TerminalSize)
	| ({ readonly type: "resized"; readonly offset: number } & TerminalSize)
	| { readonly type: "gap"; readonly from: number; readonly to: number }
	| { readonly type: "driver"; readonly driver: Driver; readonly mine: boolean; readonly lease: string | null }
	| { readonly type: "ended"; readonly exit: unknown; readonly status: string }
	| { readonly type: "refused"; readonly to: string; readonly id?: string; readonly fault: FaultWords }
	| { readonly type: "typed"; readonly id: string };

type PageMessage =
	| { readonly type: "took"; readonly offset: number }
	| { readonly type: "take"; readonly cols?: number; readonly rows?: number; readonly lease?: string }
	| { readonly type: "input" | "paste"; readonly text: string }
	| { readonly type: "secret"; readonly text: string; readonly id: string }
	| { readonly type: "resize"; readonly cols: number; readonly rows: number }
	| { readonly type: "hand-back"; readonly note?: string }
	| { readonly type: "answer"; readonly text?: string; readonly declined?: true; readonly id: string };

export interface TerminalViewer {
	/** Draws a screen from nothing; calls `drawn` when it is on the screen. */
	reset(size: TerminalSize, content: string, drawn: () => void): void;
	write(bytes: Uint8Array, drawn: () => void): void;
	resize(size: TerminalSize): void;
	gap(from: number, to: number): void;
	driver(driver: Driver, mine: boolean): void;
	ended(): void;
	refused(to: string, fault: FaultWords): void;
	/** Whether output arrives. */
	connected(isLive: boolean): void;
}

/** The part of WebSocket that is used. */
export interface Socket {
	binaryType: string;
	readonly readyState: number;
	addEventListener(type: string, listener: (event: { readonly data?: unknown; readonly code?: number }) => void): void;
	send(text: string): void;
	close(): void;
}

const OPEN = 1;
const OFFSET_BYTES = 8;
/** The daemon sends at most 256 KiB ahead; acknowledging a quarter of it keeps the output moving. */
const TOOK_EACH_BYTES = 64 * 1024;
const TOOK_EACH_MS = 50;
const ID_BYTES = 16;

const NOT_CONNECTED: FaultWords = { message: "Not connected: nothing was sent." };
const CONNECTION_LOST: FaultWords = {
	message: "The connection broke before the daemon answered.",
	next: "The screen shows whether it arrived.",
};

export class TerminalSocket {
	readonly #open: () => Socket;
	readonly #viewer: TerminalViewer;
	readonly #backoff: Backoff;
	#socket: Socket | null = null;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#tookTimer: ReturnType<typeof setTimeout> | undefined;
	#lease: string | null = null;
	/** Who drives, as told while the lease of the connection before is being continued; null: it is not. */
	#continuing: { driver: Driver | null } | null = null;
	/** What was given and is not answered yet, by its id. */
	readonly #given = new Map<string, (outcome: Outcome) => void>();
	#drawn = 0;
	#acknowledged = 0;
	/** Everything was shown: the daemon closes, and there is nothing to reconnect for. */
	#isComplete = false;

	constructor(open: () => Socket, viewer: TerminalViewer, backoff: Backoff = new Backoff()) {
		this.#open = open;
		this.#viewer = viewer;
		this.#backoff = backoff;
	}

	connect(): void {
		const socket = this.#open();
		socket.binaryType = "arraybuffer";
		this.#socket = socket;
		const current = () => socket === this.#socket;
		socket.addEventListener("open", () => {
			if (!current()) return;
			this.#viewer.connected(true);
			this.#continuing = this.#lease === null ? null : { driver: null };
			if (this.#lease !== null) this.#send({ type: "take", lease: this.#lease });
		});
		socket.addEventListener("message", ({ data }) => {
			if (!current()) return;
			if (data instanceof ArrayBuffer) this.#output(data, current);
			else this.#message(JSON.parse(String(data)) as ServerMessage, current);
		});
		socket.addEventListener("close", () => {
			if (!current()) return;
			this.#socket = null;
			this.#settleAll();
			if (this.#isComplete) return;
			this.#viewer.connected(false);
			this.#retry(this.#backoff.nextMs());
		});
	}

	/** The daemon is known to be there: does not wait for the next attempt. */
	retryNow(): void {
		if (this.#timer === undefined) return;
		this.#retry(0);
	}

	close(): void {
		clearTimeout(this.#timer);
		clearTimeout(this.#tookTimer);
		const socket = this.#socket;
		this.#socket = null;
		socket?.close();
		this.#settleAll();
	}

	take(size: TerminalSize): void {
		this.#send({ type: "take", ...size });
	}

	handBack(note: string): void {
		this.#lease = null;
		this.#send({ type: "hand-back", ...(note !== "" && { note }) });
	}

	input(text: string): void {
		this.#send({ type: "input", text });
	}

	paste(text: string): void {
		this.#send({ type: "paste", text });
	}

	secret(text: string): Promise<Outcome> {
		return this.#give((id) => ({ type: "secret", text, id }));
	}

	answer(text: string): Promise<Outcome> {
		return this.#give((id) => ({ type: "answer", text, id }));
	}

	decline(): Promise<Outcome> {
		return this.#give((id) => ({ type: "answer", declined: true, id }));
	}

	resize({ cols, rows }: TerminalSize): void {
		this.#send({ type: "resize", cols, rows });
	}

	#retry(afterMs: number): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			this.connect();
		}, afterMs);
	}

	#output(frame: ArrayBuffer, current: () => boolean): void {
		const offset = Number(new DataView(frame).getBigUint64(0, true));
		const bytes = new Uint8Array(frame, OFFSET_BYTES);
		this.#viewer.write(bytes, () => {
			if (current()) this.#took(offset + bytes.length);
		});
	}

	#message(message: ServerMessage, current: () => boolean): void {
		switch (message.type) {
			case "snapshot":
				// Not when it opens: one that is accepted and then refused must not be tried again at once.
				this.#backoff.reset();
				this.#viewer.reset(message, message.content, () => {
					if (!current()) return;
					this.#drawn = message.offset;
					this.#acknowledge();
				});
				break;
			case "resized":
				this.#viewer.resize(message);
				break;
			case "gap":
				this.#viewer.gap(message.from, message.to);
				break;
			case "driver":
				this.#driver(message.driver, message.mine, message.lease);
				break;
			case "ended":
				this.#isComplete = true;
				this.#viewer.ended();
				break;
			case "refused":
				if (message.to === "take") this.#takeRefused();
				if (this.#settle(message.id, message.fault)) break;
				this.#viewer.refused(message.to, message.fault);
				break;
			case "typed":
				this.#settle(message.id, null);
				break;
		}
	}

	#driver(driver: Driver, isMine: boolean, lease: string | null): void {
		if (this.#continuing !== null && !isMine) {
			this.#continuing.driver = driver; // said before the daemon read our lease
			return;
		}
		this.#continuing = null;
		this.#lease = isMine ? (lease ?? this.#lease) : null;
		this.#viewer.driver(driver, isMine);
	}

	#takeRefused(): void {
		this.#lease = null;
		const driver = this.#continuing?.driver ?? null;
		this.#continuing = null;
		if (driver !== null) this.#viewer.driver(driver, false);
	}

	#took(offset: number): void {
		this.#drawn = offset;
		if (this.#drawn - this.#acknowledged >= TOOK_EACH_BYTES) this.#acknowledge();
		else this.#tookTimer ??= setTimeout(() => this.#acknowledge(), TOOK_EACH_MS);
	}

	#acknowledge(): void {
		clearTimeout(this.#tookTimer);
		this.#tookTimer = undefined;
		this.#acknowledged = this.#drawn;
		this.#send({ type: "took", offset: this.#drawn });
	}

	#give(message: (id: string) => PageMessage): Promise<Outcome> {
		const id = [...crypto.getRandomValues(new Uint8Array(ID_BYTES))]
			.map((byte) => byte.toString(16).padStart(2, "0"))
			.join("");
		return new Promise((settle) => {
			if (this.#send(message(id))) this.#given.set(id, settle);
			else settle(NOT_CONNECTED);
		});
	}

	#settle(id: string | undefined, outcome: Outcome): boolean {
		const settle = id === undefined ? undefined : this.#given.get(id);
		if (settle === undefined) return false;
		this.#given.delete(id!);
		settle(outcome);
		return true;
	}

	#settleAll(): void {
		for (const id of [...this.#given.keys()]) this.#settle(id, CONNECTION_LOST);
	}

	#send(message: PageMessage): boolean {
		if (this.#socket?.readyState !== OPEN) return false;
		this.#socket.send(JSON.stringify(message));
		return true;
	}
}
