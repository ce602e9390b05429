// The words between the daemon and a holder: docs/holder.md in TypeScript.
//
// Encoding and decoding only. Who says what when is pty/holder-pty.ts.

export const PROTOCOL_VERSION = 1;
export const MAGIC = 0x314e5444;
export const NO_OFFSET = 0xffff_ffff_ffff_ffffn;
export const MAX_INPUT_BYTES = 1 << 20;
const HEADER_BYTES = 8;
// The holder never sends more than 256 KiB; a larger length is a broken stream, not a frame to wait for.
const MAX_PAYLOAD_BYTES = (1 << 20) + 64;

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
