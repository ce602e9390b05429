// An xterm.js that shows output and does nothing else by itself: no answers to
// queries, no titles, no clipboard, links only by a click on a target that was shown.

import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { type ITerminalOptions, Terminal } from "@xterm/xterm";
import type { Store } from "../live/store.ts";
import { type CellShape, type Grid, largestFont, type Pane, READABLE_FONT_PX, scrollToShow } from "./fit.ts";
import { makeInert } from "./inert-queries.ts";
import { MONOSPACE, TERMINAL_THEME } from "./theme.ts";

const OPTIONS: ITerminalOptions = {
	allowProposedApi: true, // unicode versions
	altClickMovesCursor: false,
	cursorBlink: false,
	disableStdin: true,
	fontFamily: MONOSPACE,
	fontSize: 14,
	lineHeight: 1.15,
	logLevel: "off",
	macOptionClickForcesSelection: true,
	minimumContrastRatio: 4.5, // WCAG AA
	scrollback: 5_000,
	theme: TERMINAL_THEME,
};

/** What a person does in a terminal that the page around it carries out. */
export interface TerminalActions {
	copy(text: string): void;
	/** A person clicked: show where it leads, then open it. */
	open(target: string): void;
	/** The pointer is over a link; null: no longer. */
	show(target: string | null): void;
}

/** A screen as a person has it before them. */
export interface ShownScreen {
	/** The rows as text, for screen readers; follows the screen a little later. */
	readonly mirror: Store<string>;
	/** The visible rows. */
	screenText(): string;
	selection(): string;
}

export function inertTerminal(grid: Grid, links: TerminalActions | null, options: ITerminalOptions = {}): Terminal {
	const handler = links && {
		activate: (_: MouseEvent, target: string) => links.open(target),
		hover: (_: MouseEvent, target: string) => links.show(target),
		leave: () => links.show(null),
		allowNonHttpProtocols: false,
	};
	const terminal = new Terminal({ ...OPTIONS, ...grid, ...(handler && { linkHandler: handler }), ...options });
	makeInert(terminal.parser);
	// The daemon measures characters by the same tables.
	terminal.loadAddon(new Unicode11Addon());
	terminal.unicode.activeVersion = "11";
	if (handler) terminal.loadAddon(new WebLinksAddon(handler.activate, { hover: handler.hover, leave: handler.leave }));
	return terminal;
}

/** The keys that the terminal itself takes; Ctrl+Shift+C copies what is selected, and opens no tools of the browser. */
export function takeKeys(
	terminal: Terminal,
	actions: TerminalActions,
	isTaken: (event: KeyboardEvent) => boolean,
): void {
	terminal.attachCustomKeyEventHandler((event) => {
		if (!isCopyKey(event)) return isTaken(event);
		event.preventDefault();
		const text = terminal.getSelection();
		if (event.type === "keydown" && text !== "") actions.copy(text);
		return false;
	});
}

const isCopyKey = ({ ctrlKey, shiftKey, altKey, metaKey, key }: KeyboardEvent) =>
	ctrlKey && shiftKey && !altKey && !metaKey && key.toLowerCase() === "c";

/** Puts it into the page. Screen readers get the rows from a text beside it, not from these pieces of lines. */
export function openIn(element: HTMLElement, terminal: Terminal): void {
	terminal.open(element);
	element.querySelector(".xterm-rows")?.setAttribute("aria-hidden", "true");
}

/** Draws a screen from nothing, in order with what was written before. */
export function drawScreen(terminal: Terminal, grid: Grid, content: string, drawn?: () => void): void {
	// xterm.js shows no cursor before the first focus, unless a program leaves its full screen: so that is said here.
	terminal.write("\x1bc\x1b[?47l", () => terminal.resize(grid.cols, grid.rows));
	terminal.write(content, drawn);
}

/** The visible rows, also of one that is scrolled up; trailing blanks removed. */
export function rowsOf(terminal: Terminal): string[] {
	const { active } = terminal.buffer;
	return Array.from({ length: terminal.rows }, (_, row) =>
		(active.getLine(active.viewportY + row)?.translateToString(true) ?? "").trimEnd(),
	);
}

/** Of letters that were chosen for a pane. */
interface Fitted {
	/** Whole lines fit in letters that can be read. */
	readonly isReadable: boolean;
}

/** Chooses the largest letters with which all of the screen is within the pane, or readable ones. Null while nothing is drawn that can be measured. */
export function fitLetters(terminal: Terminal, pane: Pane): Fitted | null {
	const screen = screenElement(terminal);
	if (screen === null || screen.offsetWidth === 0 || pane.width <= 0 || pane.height <= 0) return null;
	const fits = (fontPx: number) => {
		terminal.options.fontSize = fontPx;
		return screen.offsetWidth <= pane.width && screen.offsetHeight <= pane.height;
	};
	terminal.options.fontSize = READABLE_FONT_PX;
	// A pane that is only too low, as beside a question, shows all: lines are what one reads.
	const isReadable = screen.offsetWidth <= pane.width;
	terminal.options.fontSize = isReadable || pane.showsAll ? largestFont(fits) : READABLE_FONT_PX;
	return { isReadable };
}

/** So many cells around the cursor are in view with it. */
const AROUND_CURSOR = 4;

/** Scrolls the element around a terminal that is larger so that the cursor is in view. */
export function showCursor(terminal: Terminal, around: HTMLElement): void {
	const screen = screenElement(terminal);
	const { scrollLeft, scrollTop, clientWidth, clientHeight } = around;
	if (screen === null || (around.scrollWidth <= clientWidth && around.scrollHeight <= clientHeight)) return;
	const { cursorX, cursorY } = terminal.buffer.active;
	const [edge, origin] = [around.getBoundingClientRect(), screen.getBoundingClientRect()];
	const stretch = (start: number, cell: number, at: number) => ({
		from: start + cell * (at - AROUND_CURSOR),
		to: start + cell * (at + 1 + AROUND_CURSOR),
	});
	const columns = stretch(origin.left - edge.left + scrollLeft, origin.width / terminal.cols, cursorX);
	const rows = stretch(origin.top - edge.top + scrollTop, origin.height / terminal.rows, cursorY);
	around.scrollTo(scrollToShow(scrollLeft, clientWidth, columns), scrollToShow(scrollTop, clientHeight, rows));
}

/** A cell's size per pixel of font size; null before it was drawn. */
export function cellShape(terminal: Terminal): CellShape | null {
	const { offsetWidth, offsetHeight } = screenElement(terminal) ?? { offsetWidth: 0, offsetHeight: 0 };
	const fontPx = terminal.options.fontSize ?? 14;
	if (offsetWidth === 0 || offsetHeight === 0) return null;
	return { width: offsetWidth / terminal.cols / fontPx, height: offsetHeight / terminal.rows / fontPx };
}

function screenElement(terminal: Terminal): HTMLElement | null {
	const screen = terminal.element?.querySelector(".xterm-screen");
	return screen instanceof HTMLElement ? screen : null;
}
