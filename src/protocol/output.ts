// A session's output as it travels from the holder to every consumer: journal,
// screen, shell marks, streams and listeners all take the same chunks.

/** Bytes at an absolute offset. */
export interface Bytes {
	readonly offset: number;
	readonly bytes: Uint8Array;
}

/** Output that is not kept: a full disk, or the quota. */
export interface Gap {
	readonly from: number;
	readonly to: number;
}

/** A piece of output, or the place where one is missing. */
export type OutputChunk = Bytes | { readonly gap: Gap };
