// Whether a connection to the broker is up, as it reports it, and whether there is reason to doubt what comes over it.

import { AuthorizationError, type NatsConnection } from "@nats-io/nats-core";
import { Listeners, reportError } from "../protocol/listeners.ts";

export class Connected implements Disposable {
	readonly #changes = new Listeners<boolean>("broker");
	readonly #doubts = new Listeners<void>("broker's silence");
	readonly #refusals = new Listeners<void>("broker's refusal");
	readonly #statuses: ReturnType<NatsConnection["status"]>;
	/** Since when it is away, ms since 1970; null while it is there. */
	#awaySince: number | null = null;
	#since = Date.now();

	#isRefused = false;

	constructor(nats: NatsConnection) {
		this.#statuses = nats.status();
		this.#follow(nats).catch((error) => reportError(error, "broker status"));
	}

	get awaySince(): number | null {
		return this.#awaySince;
	}

	/** Since when it was there last, ms since 1970. */
	get since(): number {
		return this.#since;
	}

	/** It is away, and its servers do not take the credentials any more. */
	get isRefused(): boolean {
		return this.#isRefused;
	}

	/** Told at each change. */
	onChange(listener: (isConnected: boolean) => void): () => void {
		return this.#changes.add(listener);
	}

	/** Told each time that its servers refuse the credentials. */
	onRefused(listener: () => void): () => void {
		return this.#refusals.add(listener);
	}

	/** Something that is sure to come did not: the broker may have lost what it keeps. */
	doubt(): void {
		this.#doubts.emit();
	}

	onDoubt(listener: () => void): () => void {
		return this.#doubts.add(listener);
	}

	async #follow(nats: NatsConnection): Promise<void> {
		for await (const status of this.#statuses) {
			const { type } = status;
			if (type === "error" && status.error instanceof AuthorizationError) {
				this.#isRefused = true;
				this.#refusals.emit();
			}
			if (type === "disconnect" || type === "close") this.#set(Date.now());
			if (type !== "reconnect") continue;
			this.#isRefused = false;
			this.#set(null);
		}
		if (nats.isClosed()) this.#set(this.#awaySince ?? Date.now());
	}

	#set(awaySince: number | null): void {
		if ((awaySince === null) === (this.#awaySince === null)) return;
		this.#awaySince = awaySince;
		if (awaySince === null) this.#since = Date.now();
		this.#changes.emit(awaySince === null);
	}

	[Symbol.dispose](): void {
		(this.#statuses as unknown as { stop(): void }).stop();
		this.#changes.clear();
		this.#doubts.clear();
		this.#refusals.clear();
	}
}
