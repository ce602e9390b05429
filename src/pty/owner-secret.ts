// The secret that a holder asks of its clients. It writes the one it was launched
// with to its session's directory, so that the next daemon can present it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const SECRET_BYTES = 32;

/** Null where there is none: an older holder, which asks for none, or one that has left. */
export async function readSecret(directory: string): Promise<Uint8Array | null> {
	try {
		return await readFile(join(directory, "secret"));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	}
}
