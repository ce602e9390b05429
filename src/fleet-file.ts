// The fleet that this machine has joined, as the daemon keeps it for the next one: what a person has asked for. Read
// without a daemon too, to list the tools as they will be.

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { cardInFleet } from "./fleet/fleet-cards.ts";
import { checked, MAX_BYTES, parseObject, readCache, replaceState } from "./journal/state-file.ts";
import type { FleetWish } from "./protocol/fleet.ts";
import type { ToolCard } from "./tools/client.ts";

const kept = z.object({
	servers: z.array(z.string()),
	credentials: z.exactOptional(z.string()),
	host: z.exactOptional(z.string()),
	labels: z.record(z.string(), z.string()),
});

export class FleetFile {
	readonly #path: string;

	constructor(state: string) {
		this.#path = join(state, "fleet.json");
	}

	get exists(): boolean {
		return existsSync(this.#path);
	}

	/** Null where no fleet was joined. */
	read(): Promise<FleetWish | null> {
		return readCache({
			path: this.#path,
			maxBytes: MAX_BYTES.fleet,
			parse: (text) => checked(kept, parseObject(text)),
		});
	}

	write(wish: FleetWish): Promise<void> {
		return replaceState(this.#path, JSON.stringify(wish));
	}

	remove(): Promise<void> {
		return rm(this.#path, { force: true });
	}

	/** Tools as the daemon will list them that joins again: with the host that a call is for, where it may ask others. */
	async listed(cards: readonly ToolCard[]): Promise<readonly ToolCard[]> {
		const wish = this.exists ? await this.read() : null;
		if (wish === null) return cards;
		const { prepared } = await import("./fleet/prepared.ts");
		try {
			return prepared(wish).asks ? cards.map(cardInFleet) : cards;
		} catch {
			return cards; // its credentials cannot be used: it will be no member
		}
	}
}
