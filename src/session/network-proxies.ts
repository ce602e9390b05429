// The proxies of sandboxes that may reach some hosts: one for each such session, open from its start, or its
// adoption by the next daemon, until nothing of it runs. While there is none, its programs reach nothing.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SessionRecord } from "../journal/records.ts";
import type { Places } from "../pty/places.ts";
import { AllowProxy } from "./allow-proxy.ts";
import { KeyedQueue } from "./keyed-queue.ts";

const SOCKET = "s";

export class NetworkProxies implements AsyncDisposable {
	readonly #places: Pick<Places, "socketFor">;
	readonly #open = new Map<string, AllowProxy>();
	readonly #changes = new KeyedQueue();

	constructor(places: Pick<Places, "socketFor">) {
		this.#places = places;
	}

	/** Where its proxy listens; undefined where it needs none. */
	async open({ id, sandbox }: Pick<SessionRecord, "id" | "sandbox">): Promise<string | undefined> {
		if (sandbox === null || typeof sandbox.network === "string") return undefined;
		const { allow } = sandbox.network;
		const path = join(this.#directoryOf(id), SOCKET);
		await this.#changes.run(id, async () => {
			if (this.#open.has(id)) return;
			await mkdir(this.#directoryOf(id), { mode: 0o700, recursive: true });
			this.#open.set(id, await AllowProxy.listen(path, allow));
		});
		return path;
	}

	/** For good: nothing of the session runs. */
	async close(id: string): Promise<void> {
		if (!this.#open.has(id)) return;
		await this.#stop(id);
		await rm(this.#directoryOf(id), { recursive: true, force: true });
	}

	/** The sessions go on: the next daemon listens in the same places. */
	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all([...this.#open.keys()].map((id) => this.#stop(id)));
	}

	#stop(id: string): Promise<void> {
		return this.#changes.run(id, async () => {
			const proxy = this.#open.get(id);
			this.#open.delete(id);
			await proxy?.[Symbol.asyncDispose]();
		});
	}

	/** Nothing else is in it: it is mounted in the sandbox. */
	#directoryOf(id: string): string {
		return this.#places.socketFor(id).replace(/\.sock$/, ".p");
	}
}
