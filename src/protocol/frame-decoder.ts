// What a holder says, decoded from a stream that may be cut anywhere.
//
// OUTPUT goes through without being copied or waited for: its bytes are told in
// the pieces in which they arrive, as views of the chunk. Every other frame is
// gathered whole. Nonsense throws BadFrame; after that nothing in the stream can
// be believed, so the decoder refuses the rest too.

import {
	FrameType,
	HEADER_BYTES,
	type HolderEvent,
	type HolderExit,
	type HolderFrame,
	REFUSALS,
	type Refusal,
	type Welcome,
} from "./frames.ts";
import type { KernelFacts } from "./kernel-facts.ts";

// A larger length is a broken stream, not a frame to wait for.
const MAX_PAYLOAD_BYTES = 256 * 1024;
const OUTPUT_OFFSET_BYTES = 8;

/** The stream does not speak the protocol. */
export class BadFrame extends Error {
	override readonly name = "BadFrame";
}

interface Shape {
	readonly least: number;
	readonly most: number;
	/** `payload` is the whole payload; never called for OUTPUT. */
	readonly read: (payload: DataView) => HolderFrame;
}

const SHAPES: Readonly<Record<number, Shape>> = {
	[FrameType.welcome]: {
		least: 2,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({ type: "welcome", welcome: welcomeOf(objectFrom(payload, 0)) }),
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
		read: (payload) => ({ type: "done", request: payload.getUint32(0, true), value: offsetAt(payload, 8) }),
	},
	[FrameType.refused]: {
		least: 10,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({
			type: "refused",
			request: payload.getUint32(0, true),
			refusal: refusalOf(objectFrom(payload, 8)),
		}),
	},
	[FrameType.facts]: {
		least: 10,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({
			type: "facts",
			request: payload.getUint32(0, true),
			facts: factsOf(objectFrom(payload, 8)),
		}),
	},
	[FrameType.event]: {
		least: 2,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({ type: "event", event: eventOf(objectFrom(payload, 0)) }),
	},
	[FrameType.exit]: {
		least: 2,
		most: MAX_PAYLOAD_BYTES,
		read: (payload) => ({ type: "exit", exit: holderExitOf(objectFrom(payload, 0)) }),
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
	| { readonly is: "payload"; bytes: number; readonly read: Shape["read"] }
	| { readonly is: "output"; bytes: number; offset: number };

/** Feed it chunks as they come; it tells frames in order. */
export class FrameDecoder {
	readonly #emit: (frame: HolderFrame) => void;
	#phase: Phase = { is: "header", bytes: HEADER_BYTES };
	/** What must be whole before it can be read; its last `#phase.bytes` bytes are still missing. */
	#gathered = new Uint8Array(HEADER_BYTES);
	#broken = false;

	constructor(emit: (frame: HolderFrame) => void) {
		this.#emit = emit;
	}

	/** True between frames: a stream that ends elsewhere was cut. */
	get atBoundary(): boolean {
		return this.#phase.is === "header" && this.#phase.bytes === HEADER_BYTES;
	}

	/** Throws BadFrame at the first nonsense; the frames before it have been told. */
	push(chunk: Uint8Array): void {
		if (this.#broken) fail("the stream was already broken");
		// Also set while a listener runs, so that one that throws leaves a decoder that is not believed.
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
		this.#gathered.set(piece, this.#gathered.length - phase.bytes);
		phase.bytes -= piece.length;
		if (phase.bytes > 0) return;
		const whole = new DataView(this.#gathered.buffer);
		if (phase.is === "header") this.#expect(phaseAfter(whole));
		else if (phase.is === "outputOffset")
			this.#expect({ is: "output", bytes: phase.outputBytes, offset: offsetAt(whole, 0) });
		else {
			this.#expect({ is: "header", bytes: HEADER_BYTES });
			this.#emit(phase.read(whole));
		}
	}

	#expect(phase: Phase): void {
		this.#phase = phase;
		if (phase.is !== "output") this.#gathered = new Uint8Array(phase.bytes);
	}
}

function phaseAfter(header: DataView): Phase {
	const payloadBytes = header.getUint32(0, true);
	const type = header.getUint8(4);
	const shape = SHAPES[type];
	if (shape === undefined) return fail(`type 0x${type.toString(16)} is none of a holder's frames`);
	if (header.getUint8(5) !== 0 || header.getUint16(6, true) !== 0) fail("the header's zeros are not zero");
	if (payloadBytes < shape.least || payloadBytes > shape.most)
		fail(`${payloadBytes} bytes are no payload of type 0x${type.toString(16)}`);
	return type === FrameType.output
		? { is: "outputOffset", bytes: OUTPUT_OFFSET_BYTES, outputBytes: payloadBytes - OUTPUT_OFFSET_BYTES }
		: { is: "payload", bytes: payloadBytes, read: shape.read };
}

function fail(problem: string): never {
	throw new BadFrame(problem);
}

/** Offsets are numbers here: 2^53 bytes of output are more than any session writes. */
function offsetAt(payload: DataView, at: number): number {
	const value = payload.getBigUint64(at, true);
	return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : fail(`offset ${value} is out of range`);
}

type Json = Readonly<Record<string, unknown>>;
const utf8 = new TextDecoder();

function objectFrom(payload: DataView, at: number): Json {
	const text = utf8.decode(new Uint8Array(payload.buffer, payload.byteOffset + at, payload.byteLength - at));
	return parseObject(text);
}

function parseObject(text: string): Json {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (cause) {
		throw new BadFrame("not JSON", { cause });
	}
	return typeof value === "object" && value !== null && !Array.isArray(value)
		? (value as Json)
		: fail("no JSON object");
}

const isNumber = (value: unknown) => typeof value === "number";
const isText = (value: unknown) => typeof value === "string";
const isNumberOrNull = (value: unknown) => value === null || isNumber(value);
const isList = (value: unknown) => Array.isArray(value);
const isFlag = (value: unknown) => typeof value === "boolean";

function check(json: Json, fields: Readonly<Record<string, (value: unknown) => boolean>>): void {
	for (const [name, right] of Object.entries(fields))
		if (!right(json[name])) fail(`"${name}" is ${JSON.stringify(json[name])}`);
}

function welcomeOf(json: Json): Welcome {
	check(json, {
		version: isNumber,
		holder: isNumber,
		pid: isNumber,
		from: isNumber,
		size: isNumber,
		inputOffset: isNumber,
	});
	check(json, { cols: isNumber, rows: isNumber, pts: isText });
	const exit = json.exit;
	return { ...json, exit: exit === null || exit === undefined ? null : holderExitOf(exit as Json) } as Welcome;
}

function holderExitOf(json: Json): HolderExit {
	check(json, { code: isNumberOrNull, signal: isNumberOrNull, size: isNumber, closed: isFlag, reason: isText });
	return {
		core: false,
		startedAt: 0,
		endedAt: 0,
		rusage: null,
		survivors: [],
		lost: 0,
		...json,
	} as unknown as HolderExit;
}

/** The text of an `exit` file; throws BadFrame when it is none. */
export function parseExitFile(text: string): HolderExit {
	return holderExitOf(parseObject(text));
}

function refusalOf(json: Json): Refusal {
	const code = REFUSALS.find((known) => known === json.code);
	// A newer holder may refuse for a reason that has no name here yet: its message still says why.
	return { message: "refused", ...json, code: code ?? "system" } as Refusal;
}

function factsOf(json: Json): KernelFacts {
	check(json, { offset: isNumber, threads: isList });
	return json as unknown as KernelFacts;
}

function eventOf(json: Json): HolderEvent {
	check(json, { event: isText });
	return json as unknown as HolderEvent;
}
