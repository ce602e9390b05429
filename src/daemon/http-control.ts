// The daemon's HTTP: closed until a client asks for it, on one port at a time, and closed again when the
// last one that holds it is gone, unless it was pinned.

import { Fault } from "../protocol/fault.ts";
import { reportError } from "../protocol/listeners.ts";
import type { Caller } from "../tools/tool.ts";
import type { HttpQuestion } from "./wire.ts";

/** How long a replaced daemon's HTTP waits for the `serve` that held it. */
const AWAIT_MS = 10_000;

export interface HttpServer {
	readonly url: string;
	close(): Promise<void>;
}

export interface HttpLease {
	readonly url: string;
	readonly pinned: boolean;
	/** Ends a `hold`. */
	release(): Promise<void>;
}

export class HttpControl {
	readonly #listen: (port: number, caller: Caller) => Promise<HttpServer>;
	readonly #onChange: () => void;
	#server: HttpServer | null = null;
	#pinned = false;
	#holders = 0;
	#awaiting: NodeJS.Timeout | null = null;
	/** One change at a time. */
	#last: Promise<unknown> = Promise.resolve();

	constructor(listen: (port: number, caller: Caller) => Promise<HttpServer>, onChange: () => void) {
		this.#listen = listen;
		this.#onChange = onChange;
	}

	/** Null while it is closed. */
	get state(): { readonly url: string; readonly pinned: boolean } | null {
		return this.#server === null ? null : { url: this.#server.url, pinned: this.#pinned };
	}

	/** Opens it, or joins where it is open. */
	open({ port, exact, keep, caller }: HttpQuestion): Promise<HttpLease> {
		return this.#next(async () => {
			const open = this.#server;
			if (open !== null && exact && port !== 0 && Number(new URL(open.url).port) !== port) {
				throw new Fault("http_open", { url: open.url, port });
			}
			const server = open ?? (await this.#listen(port, caller));
			this.#server = server;
			if (keep === "pin") this.#pinned = true;
			if (keep === "hold") this.#holders++;
			if (keep === "await" && this.#awaiting === null) {
				this.#awaiting = setTimeout(() => {
					this.#awaiting = null;
					this.#closeIfUnused().catch((error: unknown) => reportError(error, "closing HTTP"));
				}, AWAIT_MS).unref();
			}
			this.#onChange();
			let held = keep === "hold";
			const release = async () => {
				if (held) this.#holders--;
				held = false;
				await this.#closeIfUnused();
			};
			return { url: server.url, pinned: this.#pinned, release };
		});
	}

	async close(): Promise<void> {
		if (this.#awaiting !== null) clearTimeout(this.#awaiting);
		await this.#next(() => this.#close());
	}

	#closeIfUnused(): Promise<void> {
		return this.#next(async () => {
			if (!this.#pinned && this.#holders === 0 && this.#awaiting === null) await this.#close();
		});
	}

	async #close(): Promise<void> {
		const server = this.#server;
		this.#server = null;
		await server?.close();
		if (server !== null) this.#onChange();
	}

	#next<T>(change: () => Promise<T>): Promise<T> {
		const result = this.#last.then(change);
		this.#last = result.catch(() => {}); // reported to the one that asked
		return result;
	}
}
