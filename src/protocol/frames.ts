// The protocol between the daemon and a holder: docs/holder.md in TypeScript.
//
// Types of both directions, and the encoding of what a client sends. What a
// holder sends is decoded by frame-decoder.ts and holder-json.ts.

import type { KernelFacts } from "./kernel-facts.ts";

export const PROTOCOL_VERSION = 1;
const MAGIC = 0x314e5444;
export const NO_OFFSET = 0xffff_ffff_ffff_ffffn;
export const MAX_INPUT_BYTES = 1 << 20;
export const HEADER_BYTES = 8;
const HELLO_BYTES = 24;

export const FrameType = {
	hello: 0x01,
	attach: 0x02,
	credit: 0x03,
	input: 0x04,
	resize: 0x05,
	signal: 0x06,
	end: 0x07,
	askFacts: 0x08,
	watch: 0x09,
	share: 0x0a,
	secrets: 0x0b,
	welcome: 0x81,
	output: 0x82,
	gap: 0x83,
	done: 0x84,
	refused: 0x85,
	facts: 0x86,
	event: 0x87,
	exit: 0x88,
	fenced: 0x89,
} as const;

export const SignalTarget = { foreground: 0, main: 1, tree: 2 } as const;
export type SignalTarget = keyof typeof SignalTarget;

/** The limits for which a holder ends a session. */
export const LIMIT_REASONS = ["wall_clock", "cpu_time", "memory", "processes"] as const;
export type LimitReason = (typeof LIMIT_REASONS)[number];

/** The holder's `exit` file and EXIT frame, as it writes them: signals are numbers. */
export interface HolderExit {
	readonly code: number | null;
	readonly signal: number | null;
	readonly core: boolean;
	readonly size: number;
	readonly startedAt: number;
	readonly endedAt: number;
	readonly closed: boolean;
	readonly reason: "exit" | "end" | LimitReason;
	readonly rusage: { readonly userMs: number; readonly systemMs: number; readonly maxRssKb: number } | null;
	/** `born`: its start time as /proc/PID/stat has it; older holders do not tell. */
	readonly survivors: readonly { readonly pid: number; readonly command: string; readonly born?: string }[];
	/** Below it, and yet not part of the session: a Dialtone of its own, which goes on. */
	readonly released?: HolderExit["survivors"] | undefined;
	readonly lost: number;
}

export interface Welcome {
	readonly version: number;
	/** It knows SHARE. */
	readonly shares: boolean;
	/** It knows SECRETS, and input that is refused while the terminal echoes. */
	readonly masks: boolean;
	readonly holder: number;
	readonly pid: number;
	readonly pts: string;
	readonly epoch: number;
	/** The first offset that is kept. */
	readonly from: number;
	readonly size: number;
	readonly inputOffset: number;
	readonly cols: number;
	readonly rows: number;
	readonly startedAt: number;
	readonly exit: HolderExit | null;
}

export const REFUSALS = [
	"bad_frame",
	"version",
	"denied",
	"not_owner",
	"fenced",
	"queue_full",
	"line_too_long",
	"input_gap",
	"echo",
	"ended",
	"bad_signal",
	"system",
] as const;
type RefusalCode = (typeof REFUSALS)[number];

/** Why the holder refused: `code`, `message` and the facts of that code. */
export interface Refusal {
	readonly code: RefusalCode;
	readonly message: string;
	readonly errno?: number;
	readonly free?: number;
	readonly limit?: number;
	readonly inputOffset?: number;
	readonly lowest?: number;
	readonly highest?: number;
}

/** The stage at which a launch failed; `launch` is before the holder could answer. */
export const CREATION_STAGES = [
	"launch",
	"block",
	"log",
	"socket",
	"pty",
	"fork",
	"terminal",
	"limits",
	"identity",
	"chdir",
	"exec",
	"sandbox",
] as const;
export type CreationStage = (typeof CREATION_STAGES)[number];

/** What the launcher prints before it exits. */
export type LaunchAnswer =
	| { readonly ok: true; readonly holder: number; readonly pid: number; readonly pts: string }
	| {
			readonly ok: false;
			readonly stage: CreationStage;
			readonly errno: number;
			readonly code: string;
			readonly message: string;
	  };

export type HolderEvent =
	/** Output from the offset `at` on was drawn for the new size. */
	| { readonly event: "resized"; readonly cols: number; readonly rows: number; readonly at: number | null }
	| { readonly event: "log_lost"; readonly from: number; readonly to: number; readonly errno: number }
	| { readonly event: "log_back"; readonly at: number }
	/** The disk has not answered for a second: output from this offset on waits for it. */
	| { readonly event: "disk_stalled"; readonly at: number }
	| { readonly event: "disk_back"; readonly at: number }
	| { readonly event: "exit_not_saved"; readonly errno: number }
	| { readonly event: "ending"; readonly reason: LimitReason }
	| { readonly event: "main_exited"; readonly code: number | null; readonly signal: number | null }
	| { readonly event: "input_dropped"; readonly bytes: number }
	| { readonly event: "input_held"; readonly bytes: number; readonly limit: number }
	| {
			readonly event: "input_refused";
			/** How much of the write was typed before. */
			readonly typed: number;
			readonly bytes: number;
			/** The length of the line that is too long. */
			readonly line: number;
			readonly limit: number;
	  }
	| { readonly event: "input_room"; readonly free: number }
	| {
			readonly event: "survivors";
			readonly survivors: HolderExit["survivors"];
	  };

/** What a holder sends. An OUTPUT frame is emitted in the pieces in which it arrives. */
export type HolderFrame =
	| { readonly type: "welcome"; readonly welcome: Welcome }
	| { readonly type: "output"; readonly offset: number; readonly bytes: Uint8Array }
	| { readonly type: "gap"; readonly from: number; readonly to: number }
	/** `unsaved`, of END: the disk does not answer, so the exit is told later. */
	| { readonly type: "done"; readonly request: number; readonly unsaved: boolean; readonly value: number }
	| { readonly type: "refused"; readonly request: number; readonly refusal: Refusal }
	| { readonly type: "facts"; readonly request: number; readonly facts: KernelFacts }
	| { readonly type: "event"; readonly event: HolderEvent }
	| { readonly type: "exit"; readonly exit: HolderExit }
	| { readonly type: "fenced"; readonly epoch: bigint };

// Small frames are cut from one buffer, as Node's own pool does it: a buffer for each keystroke took 4 µs of 70.
const POOL_BYTES = 16 * 1024;
let pool = new ArrayBuffer(POOL_BYTES);
let used = 0;

/** A frame with an empty payload of the given length, and a view of that payload. */
function frame(type: number, payloadBytes: number): { bytes: Uint8Array<ArrayBuffer>; payload: DataView<ArrayBuffer> } {
	const size = HEADER_BYTES + payloadBytes;
	const pooled = size <= POOL_BYTES / 16;
	if (pooled && size > POOL_BYTES - used) {
		pool = new ArrayBuffer(POOL_BYTES);
		used = 0;
	}
	const [buffer, at] = pooled ? [pool, used] : [new ArrayBuffer(size), 0];
	if (pooled) used += size;
	const bytes = new Uint8Array(buffer, at, size);
	const payload = new DataView(buffer, at + HEADER_BYTES, payloadBytes);
	bytes[0] = payloadBytes;
	bytes[1] = payloadBytes >>> 8;
	bytes[2] = payloadBytes >>> 16;
	bytes[3] = payloadBytes >>> 24;
	bytes[4] = type;
	return { bytes, payload };
}

export interface HelloFrame {
	readonly owner: boolean;
	readonly epoch: bigint;
	/** Null: for an older holder, which asks for none. */
	readonly secret: Uint8Array | null;
}

export function helloFrame({ owner, epoch, secret }: HelloFrame): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.hello, HELLO_BYTES + (secret?.length ?? 0));
	payload.setUint32(0, MAGIC, true);
	payload.setUint16(4, PROTOCOL_VERSION, true);
	payload.setUint16(6, PROTOCOL_VERSION, true);
	payload.setUint32(8, owner ? 1 : 0, true);
	payload.setBigUint64(16, epoch, true);
	if (secret !== null) bytes.set(secret, HEADER_BYTES + HELLO_BYTES);
	return bytes;
}

/** Output from `from` (NO_OFFSET: from the end) and no further than `until`. */
export function attachFrame(from: bigint, until: bigint): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.attach, 16);
	payload.setBigUint64(0, from, true);
	payload.setBigUint64(8, until, true);
	return bytes;
}

export function creditFrame(until: bigint): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.credit, 8);
	payload.setBigUint64(0, until, true);
	return bytes;
}

export interface InputFrame {
	readonly request: number;
	readonly bytes: Uint8Array;
	readonly priority?: boolean | undefined;
	/** A secret: typed at once and while nothing is echoed, or refused. */
	readonly hidden?: boolean | undefined;
	/** How many bytes were accepted before this one; left out: append. */
	readonly inputOffset?: bigint | undefined;
	/** 16 bytes; left out: none. */
	readonly writeId?: Uint8Array;
}

export function inputFrame({
	request,
	bytes: typed,
	priority,
	hidden,
	inputOffset,
	writeId,
}: InputFrame): Uint8Array<ArrayBuffer> {
	if (typed.length === 0 || typed.length > MAX_INPUT_BYTES)
		throw new RangeError(`one INPUT frame carries 1 to ${MAX_INPUT_BYTES} bytes, not ${typed.length}`);
	const { bytes, payload } = frame(FrameType.input, 32 + typed.length);
	payload.setUint32(0, request, true);
	payload.setUint32(4, (priority ? 1 : 0) | (hidden ? 2 : 0), true);
	payload.setBigUint64(8, inputOffset ?? NO_OFFSET, true);
	if (writeId !== undefined) bytes.set(writeId, HEADER_BYTES + 16);
	bytes.set(typed, HEADER_BYTES + 32);
	return bytes;
}

export function resizeFrame(request: number, cols: number, rows: number): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.resize, 12);
	payload.setUint32(0, request, true);
	payload.setUint16(4, cols, true);
	payload.setUint16(6, rows, true);
	return bytes;
}

export function signalFrame(request: number, signal: number, target: SignalTarget): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.signal, 8);
	payload.setUint32(0, request, true);
	payload.setUint8(4, signal);
	payload.setUint8(5, SignalTarget[target]);
	return bytes;
}

export function endFrame(request: number, graceMs: number): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.end, 8);
	payload.setUint32(0, request, true);
	payload.setUint32(4, graceMs, true);
	return bytes;
}

export function askFactsFrame(request: number): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.askFacts, 4);
	payload.setUint32(0, request, true);
	return bytes;
}

export function watchFrame(request: number, on: boolean, busyMs: number): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.watch, 12);
	payload.setUint32(0, request, true);
	payload.setUint32(4, on ? 1 : 0, true);
	payload.setUint32(8, busyMs, true);
	return bytes;
}

/** The nice value of the programs' share of the processor; 0: as it was. */
export function shareFrame(nice: number): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.share, 8);
	payload.setUint32(0, nice, true);
	return bytes;
}

/** What is to be masked in all output from now on, as `maskRecords` has it. */
export function secretsFrame(request: number, records: Uint8Array): Uint8Array<ArrayBuffer> {
	const { bytes, payload } = frame(FrameType.secrets, 8 + records.length);
	payload.setUint32(0, request, true);
	bytes.set(records, HEADER_BYTES + 8);
	return bytes;
}
