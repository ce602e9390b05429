// Rows and cells as @xterm/headless keeps them: what is read from the grid, and no more.

/** A row of cells, as the emulator keeps it. */
export interface Row {
	readonly isWrapped: boolean;
	readonly length: number;
	getTrimmedLength(): number;
	translateToString(trimRight: boolean, from?: number, to?: number): string;
	loadCell(column: number, cell: Cell): Cell;
	setCell(column: number, cell: Cell): void;
	hasContent(column: number): number;
	getWidth(column: number): number;
	/** Colours and flags as the emulator packs them. */
	getFg(column: number): number;
	getBg(column: number): number;
	resize(cols: number, fill: Cell): boolean;
	cleanupMemory(): number;
}

const INVERSE_FLAG = 0x4000000;
const COLOR_MODE_MASK = 0x3000000;

/** Neither reversed nor on a colour: true for most cells, and ten times as fast as loading one. */
export const isOnDefaultBackground = (row: Row, column: number): boolean =>
	(row.getBg(column) & COLOR_MODE_MASK) === 0 && (row.getFg(column) & INVERSE_FLAG) === 0;

export const isReversed = (row: Row, column: number): boolean => (row.getFg(column) & INVERSE_FLAG) !== 0;

/** One cell; the same object is reused for every load. */
export interface Cell {
	fg: number;
	bg: number;
	content: number;
	getChars(): string;
	getWidth(): number;
	isInverse(): number;
	isBold(): number;
	isDim(): number;
	isItalic(): number;
	isUnderline(): number;
	isStrikethrough(): number;
	isInvisible(): number;
	getFgColorMode(): number;
	getBgColorMode(): number;
	getFgColor(): number;
	getBgColor(): number;
	isFgRGB(): boolean;
	isBgRGB(): boolean;
	isFgPalette(): boolean;
	isBgPalette(): boolean;
}

interface Rows {
	readonly length: number;
	readonly maxLength: number;
	/** Behind the last row are some that were trimmed, with what they had: where there may be none, `rowAt` is asked. */
	get(index: number): Row | undefined;
	onTrim(listener: (amount: number) => void): { dispose(): void };
}

/** A buffer: rows above the screen (scrollback), then the screen. */
export interface Grid {
	readonly lines: Rows;
	/** The index of the first row of the screen. */
	readonly ybase: number;
	readonly x: number;
	readonly y: number;
	scrollTop: number;
	scrollBottom: number;
	savedX: number;
	savedY: number;
}

export const rowAt = ({ lines }: Grid, index: number): Row | undefined =>
	index < lines.length ? lines.get(index) : undefined;
