// The daemon's HTTP: closed until a client asks for it, on one port at a time, and closed again when the
// last one that holds it is gone, unless it was pinned.

import { Fault } from "../protocol/fault.ts";
import { reportError } from "../protocol/listeners.ts";
import type { Caller } from "../tools/tool.ts";
import { type HttpQuestion, portOf, type TlsPlace } from "./wire.ts";

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

type Listen = (port: number, caller: Caller, tls: TlsPlace | undefined) => Promise<HttpServer>;

export class HttpControl {
	readonly #listen: Listen;
	readonly #onChange: () => void;
	#server: HttpServer | null = null;
	#tls: TlsPlace | undefined;
	#pinned = false;
	#holders = 0;
	#awaiting: NodeJS.Timeout | null = null;
	/** One change at a time. */
	#last: Promise<unknown> = Promise.resolve();

	constructor(listen: Listen, onChange: () => void) {
		this.#listen = listen;
		this.#onChange = onChange;
	}

	/** Null while it is closed. */
	get state(): { readonly url: string; readonly pinned: boolean; readonly tls?: TlsPlace } | null {
		if (this.#server === null) return null;
		return { url: this.#server.url, pinned: this.#pinned, ...(this.#tls !== undefined && { tls: this.#tls }) };
	}

	/** Opens it, or joins where it is open. */
	open({ port, exact, keep, tls, caller }: HttpQuestion): Promise<HttpLease> {
		return this.#next(async () => {
			const open = this.#server;
			const isElsewhere = open !== null && exact && port !== 0 && portOf(open.url) !== port;
			// Who asks for nothing but a port joins whatever is open.
			const isOther = tls !== undefined && JSON.stringify(tls) !== JSON.stringify(this.#tls);
			if (open !== null && (isElsewhere || isOther)) throw new Fault("http_open", { url: open.url, port });
			const server = open ?? (await this.#listen(port, caller, tls));
			if (open === null) this.#tls = tls;
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
