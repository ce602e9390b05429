// The parts of @xterm/headless below its public API that emulator.ts uses. The version is pinned, and
// emulator.test.ts fails when an upgrade moves one of them.

import type { Grid, Row } from "./grid.ts";

export interface Params {
	readonly length: number;
	readonly params: Int32Array;
}

export interface SequenceId {
	readonly prefix?: string;
	readonly intermediates?: string;
	readonly final: string;
}

export interface Parser {
	registerCsiHandler(id: SequenceId, handler: (params: Params) => boolean): void;
	clearCsiHandler(id: SequenceId): void;
	registerEscHandler(id: SequenceId, handler: () => boolean): void;
	registerOscHandler(id: number, handler: PayloadHandler): void;
	clearOscHandler(id: number): void;
	registerDcsHandler(id: SequenceId, handler: object): void;
	reset(): void;
	/** 0 is the ground state: no sequence is incomplete. */
	readonly currentState: number;
	/** What a combining mark that comes next is joined to. */
	precedingJoinState: number;
}

export interface PayloadHandler {
	start(): void;
	put(data: Uint32Array, from: number, to: number): void;
	end(complete: boolean): boolean;
}

/** What we change below the public API. */
export type CoreGrid = Omit<Grid, "lines" | "ybase" | "x" | "y" | "savedY"> & {
	readonly lines: Omit<Grid["lines"], "maxLength"> & {
		maxLength: number;
		trimStart(count: number): void;
		set(index: number, row: Row): void;
	};
	ybase: number;
	ydisp: number;
	x: number;
	y: number;
	savedY: number;
	/** The columns with a tab stop. */
	tabs: Readonly<Record<number, true | undefined>>;
	savedCharset: object | undefined;
	readonly savedCurAttrData: { fg: number; bg: number };
	_memoryCleanupQueue: object;
};

export interface Core {
	readonly cols: number;
	readonly buffers: Record<"active" | "normal" | "alt", CoreGrid>;
	/** Moves the rows of the active buffer up by one; the first of them to the scrollback. */
	scroll(blank: { fg: number; bg: number }): void;
	readonly unicodeService: { wcwidth(code: number): number };
	readonly coreService: {
		isCursorHidden: boolean;
		readonly modes: { insertMode: boolean };
		readonly decPrivateModes: {
			applicationCursorKeys: boolean;
			applicationKeypad: boolean;
			bracketedPasteMode: boolean;
			origin: boolean;
			sendFocus: boolean;
			synchronizedOutput: boolean;
			wraparound: boolean;
		};
	};
	readonly coreMouseService: { activeProtocol: string; activeEncoding: string };
	readonly _inputHandler: {
		parse(bytes: Uint8Array): unknown;
		/** Draws characters; the parser and the repetition of a character call it here. */
		print: (data: Uint32Array, start: number, end: number) => void;
		/** Erases a row of the screen, which then continues no other. */
		_resetBufferLine(row: number, respectProtection: boolean): void;
		readonly _parser: Parser;
		/** The pen: how the next character will look. */
		readonly _curAttrData: { fg: number; bg: number };
		_utf8Decoder: { decode(bytes: Uint8Array, target: Uint32Array): number };
		_parseBuffer: Uint32Array;
		readonly _charsetService: {
			charset: object | undefined;
			/** Which of the sets is in use. */
			glevel: number;
			_charsets: (object | undefined)[];
		};
		/** What moves the rows of the active buffer up, for whatever reason. */
		readonly _bufferService: { scroll(blank: { fg: number; bg: number }, isWrapped: boolean): void };
	};
}
