// Whose turn it is in many sessions at once, for a list: only those whose verdict may
// have changed are asked again, and none for longer than a short time.

import { within } from "./deadline.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";

const TIMEOUT_MS = 2000;

export async function freshen(slots: readonly SessionSlot[]): Promise<void> {
	await Promise.all(
		slots.map((slot) => within(TIMEOUT_MS, "asking", refreshed(slot)).catch(() => {})), // the last verdict stays, with its age
	);
}

async function refreshed(slot: SessionSlot): Promise<void> {
	const session: Session = slot.inMemory ?? (await slot.session());
	await session.refresh();
}
