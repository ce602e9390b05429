// Decodes what a holder sends, from a stream that may be split anywhere.
//
// OUTPUT is neither copied nor buffered: its bytes are emitted in the pieces in
// which they arrive, as views of the chunk. Every other frame is buffered until
// it is complete. A malformed frame throws BadFrame; after that nothing in the
// stream can be trusted, so the decoder refuses the rest too.

import { FrameType, HEADER_BYTES, type HolderFrame } from "./frames.ts";
import { BadFrame, parseEvent, parseExit, parseFacts, parseRefusal, parseWelcome } from "./holder-json.ts";

// A larger length is a broken stream, not a frame to wait for.
const MAX_PAYLOAD_BYTES = 256 * 1024;
const OUTPUT_OFFSET_BYTES = 8;
/** The longest payload of a fixed size. */
const FIXED_BYTES = 16;

interface Shape {
	readonly least: number;
	readonly most: number;
	/** `payload` is the whole payload; never called for OUTPUT. Null: unknown to us, skipped. */
	readonly read: (payload: DataView) => HolderFrame | null;
}

const SHAPES: Readonly<Record<number, Shape>> = {
	[FrameType.welcome]: {
		least: 2,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({ type: "welcome", welcome: parseWelcome(jsonFrom(payload, 0)) }),
	},
	[FrameType.output]: {
		least: OUTPUT_OFFSET_BYTES + 1,
		most: MAX_PAYLOAD_BYTES,
		read: () => fail("OUTPUT is read in pieces"),
	},
	[FrameType.gap]: {
		least: 16,
		most: 16,
		read: (payload) => {
			const [from, to] = [offsetAt(payload, 0), offsetAt(payload, 8)];
			return to >= from ? { type: "gap", from, to } : fail(`a gap from ${from} to ${to}`);
		},
	},
	[FrameType.done]: {
		least: 16,
		most: 16,
		read: (payload) => ({
			type: "done",
			request: payload.getUint32(0, true),
			unsaved: (payload.getUint32(4, true) & 1) !== 0,
			value: offsetAt(payload, 8),
		}),
	},
	[FrameType.refused]: {
		least: 10,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({
			type: "refused",
			request: payload.getUint32(0, true),
			refusal: parseRefusal(jsonFrom(payload, 8)),
		}),
	},
	[FrameType.facts]: {
		least: 10,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({
			type: "facts",
			request: payload.getUint32(0, true),
			facts: parseFacts(jsonFrom(payload, 8)),
		}),
	},
	[FrameType.event]: {
		least: 2,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => {
			const event = parseEvent(jsonFrom(payload, 0));
			return event && { type: "event", event };
		},
	},
	[FrameType.exit]: {
		least: 2,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({ type: "exit", exit: parseExit(jsonFrom(payload, 0)) }),
	},
	[FrameType.fenced]: {
		least: 8,
		most: 8,
		read: (payload) => ({ type: "fenced", epoch: payload.getBigUint64(0, true) }),
	},
};

/** What the next bytes are. `bytes` is how many of them are still missing. */
type Phase =
	| { readonly is: "header"; bytes: number }
	| { readonly is: "outputOffset"; bytes: number; readonly outputBytes: number }
	| { readonly is: "payload"; bytes: number; readonly shape: Shape }
	| { readonly is: "output"; bytes: number; offset: number };

/** Takes chunks as they arrive; emits frames in order. */
export class FrameDecoder {
	readonly #emit: (frame: HolderFrame) => void;
	/** For everything of a fixed size. Reused, because a keystroke alone is two frames. */
	readonly #small = new DataView(new ArrayBuffer(FIXED_BYTES));
	#phase: Phase = { is: "header", bytes: HEADER_BYTES };
	/** What must be complete before it can be read; of its `#size` bytes the last `#phase.bytes` are still missing. */
	#gathered = this.#small;
	#size = HEADER_BYTES;
	#broken = false;

	constructor(emit: (frame: HolderFrame) => void) {
		this.#emit = emit;
	}

	/** Throws BadFrame at the first malformed frame; the frames before it have been emitted. */
	push(chunk: Uint8Array): void {
		if (this.#broken) fail("the stream was already broken");
		// Also set while a listener runs: one that throws leaves the decoder in an unknown state.
		this.#broken = true;
		let at = 0;
		while (at < chunk.length) {
			const piece = chunk.subarray(at, at + this.#phase.bytes);
			at += piece.length;
			this.#take(piece);
		}
		this.#broken = false;
	}

	#take(piece: Uint8Array): void {
		const phase = this.#phase;
		if (phase.is === "output") {
			const { offset } = phase;
			phase.offset += piece.length;
			phase.bytes -= piece.length;
			if (phase.bytes === 0) this.#expect({ is: "header", bytes: HEADER_BYTES });
			this.#emit({ type: "output", offset, bytes: piece });
			return;
		}
		this.#gather(piece, this.#size - phase.bytes);
		phase.bytes -= piece.length;
		if (phase.bytes > 0) return;
		if (phase.is === "header") this.#expect(phaseAfter(this.#gathered));
		else if (phase.is === "outputOffset")
			this.#expect({ is: "output", bytes: phase.outputBytes, offset: offsetAt(this.#gathered, 0) });
		else {
			const frame = phase.shape.read(this.#gathered);
			this.#expect({ is: "header", bytes: HEADER_BYTES });
			if (frame !== null) this.#emit(frame);
		}
	}

	#gather(piece: Uint8Array, at: number): void {
		// For a few bytes the loop takes a tenth of the time of a view and set().
		if (piece.length > FIXED_BYTES) new Uint8Array(this.#gathered.buffer).set(piece, at);
		else for (let i = 0; i < piece.length; i++) this.#gathered.setUint8(at + i, piece[i] ?? 0);
	}

	#expect(phase: Phase): void {
		this.#phase = phase;
		this.#size = phase.bytes;
		const fixed = phase.is !== "payload" || phase.shape.least === phase.shape.most;
		this.#gathered = fixed ? this.#small : new DataView(new ArrayBuffer(phase.bytes));
	}
}

function phaseAfter(header: DataView): Phase {
	const payloadBytes = header.getUint32(0, true);
	const type = header.getUint8(4);
	const shape = SHAPES[type];
	if (shape === undefined) return fail(`type 0x${type.toString(16)} is not a holder frame`);
	if (header.getUint8(5) !== 0 || header.getUint16(6, true) !== 0) fail("reserved header bytes are not zero");
	if (payloadBytes < shape.least || payloadBytes > shape.most)
		fail(`invalid payload size ${payloadBytes} for type 0x${type.toString(16)}`);
	return type === FrameType.output
		? { is: "outputOffset", bytes: OUTPUT_OFFSET_BYTES, outputBytes: payloadBytes - OUTPUT_OFFSET_BYTES }
		: { is: "payload", bytes: payloadBytes, shape };
}

function fail(problem: string): never {
	throw new BadFrame(problem);
}

/** Offsets are numbers here: 2^53 bytes of output are more than any session writes. */
function offsetAt(payload: DataView, at: number): number {
	const high = payload.getUint32(at + 4, true);
	if (high > 0x1f_ffff) fail(`offset ${payload.getBigUint64(at, true)} is out of range`);
	return high * 2 ** 32 + payload.getUint32(at, true);
}

const utf8 = new TextDecoder();

function jsonFrom(payload: DataView, at: number): string {
	return utf8.decode(new Uint8Array(payload.buffer, payload.byteOffset + at, payload.byteLength - at));
}
