// One message of a link: its kind, its number, how many bytes of the other direction were taken so far, and a payload.
// Both ends number every frame, so that a lost or repeated one is noticed by the next.

/** `data`: bytes of the stream · `took`: only the acknowledgement · `end`: no more bytes will come · `reset`: it is over, with the reason. */
const KINDS = ["data", "took", "ping", "pong", "end", "reset"] as const;
export type Kind = (typeof KINDS)[number];

export interface Frame {
	readonly kind: Kind;
	readonly number: number;
	readonly took: number;
	readonly payload: Buffer;
}

/** 48 bits count 281 terabytes. */
const NUMBER_BYTES = 6;
export const HEADER_BYTES = 1 + 2 * NUMBER_BYTES;
export const MAX_REASON_BYTES = 500;
const isNothing = (bytes: number) => bytes === 0;
/** How much of a payload each may have. */
const CARRIES: Readonly<Record<Kind, (bytes: number) => boolean>> = {
	data: (bytes) => bytes > 0,
	took: isNothing,
	ping: isNothing,
	pong: isNothing,
	end: isNothing,
	reset: (bytes) => bytes <= MAX_REASON_BYTES,
};

export function encodeFrame({ kind, number, took, payload }: Frame): Buffer {
	const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
	frame[0] = KINDS.indexOf(kind) + 1;
	frame.writeUIntBE(number, 1, NUMBER_BYTES);
	frame.writeUIntBE(took, 1 + NUMBER_BYTES, NUMBER_BYTES);
	frame.set(payload, HEADER_BYTES);
	return frame;
}

/** Null where these bytes are no frame. */
export function decodeFrame(bytes: Uint8Array): Frame | null {
	if (bytes.length < HEADER_BYTES) return null;
	const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
	const kind = KINDS[frame[0]! - 1];
	const payload = frame.subarray(HEADER_BYTES);
	if (kind === undefined || !CARRIES[kind](payload.length)) return null;
	const number = frame.readUIntBE(1, NUMBER_BYTES);
	return { kind, number, took: frame.readUIntBE(1 + NUMBER_BYTES, NUMBER_BYTES), payload };
}
