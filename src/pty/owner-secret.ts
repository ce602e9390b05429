// The secret that a holder asks of its clients. It writes the one it was launched
// with to its session's directory, so that the next daemon can present it.

import { join } from "node:path";
import { CorruptState, openRegular } from "../journal/state-file.ts";

export const SECRET_BYTES = 32;

/** Null where there is none: an older holder, which asks for none, one that has left, or the file was lost or damaged. */
export async function readSecret(directory: string): Promise<Uint8Array | null> {
	try {
		await using file = await openRegular(join(directory, "secret"));
		if (file === null) return null;
		const { bytesRead, buffer } = await file.read(Buffer.alloc(SECRET_BYTES), 0, SECRET_BYTES, 0);
		return bytesRead === SECRET_BYTES ? buffer : null;
	} catch (error) {
		if (error instanceof CorruptState) return null;
		throw error;
	}
}
