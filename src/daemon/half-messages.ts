// Messages of which only a part has arrived, over all connections: how much of them is
// held in total, and for how long. A client that never ends its message is disconnected.

import { guarded } from "../protocol/boundary.ts";
import { limits } from "../session/options.ts";

export class HalfMessages {
	/** One per connection, whose drop function it is known by. */
	readonly #held = new Map<(reason: string) => void, { bytes: number; readonly timer: NodeJS.Timeout }>();
	#total = 0;

	/** So much is now held of the message that `drop` would end; 0: it is complete, or its connection is closed. */
	hold(drop: (reason: string) => void, bytes: number): void {
		const known = this.#held.get(drop);
		this.#total += bytes - (known?.bytes ?? 0);
		if (bytes === 0) {
			clearTimeout(known?.timer);
			this.#held.delete(drop);
		} else if (known !== undefined) known.bytes = bytes;
		else {
			const late = guarded("a message that does not end", () => drop("a message that does not end"));
			this.#held.set(drop, { bytes, timer: setTimeout(late, limits.messageMs) });
		}
		if (this.#total <= limits.heldBytes) return;
		const largest = this.#largest();
		if (largest === undefined) return;
		this.hold(largest, 0);
		largest("the largest of too many messages that are incomplete");
	}

	#largest(): ((reason: string) => void) | undefined {
		let found: ((reason: string) => void) | undefined;
		let most = 0;
		for (const [drop, { bytes }] of this.#held) {
			if (bytes <= most) continue;
			found = drop;
			most = bytes;
		}
		return found;
	}
}
