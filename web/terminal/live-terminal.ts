// One terminal, live, in an element: output from the daemon is drawn, keys go back
// while this page drives. The view around it (driver, size, connection) follows `status`.

import type { Terminal } from "@xterm/xterm";
import type { Driver } from "../live/person-session.ts";
import { Store } from "../live/store.ts";
import {
	type FaultWords,
	type Outcome,
	type Socket,
	TerminalSocket,
	type TerminalViewer,
} from "../live/terminal-socket.ts";
import { type Grid, gridToFill, type Pane } from "./fit.ts";
import { ignoreHeldElsewhere } from "./held-keys.ts";
import {
	cellShape,
	drawScreen,
	fitLetters,
	inertTerminal,
	openIn,
	rowsOf,
	type ShownScreen,
	showCursor,
	type TerminalActions,
	takeKeys,
} from "./inert-terminal.ts";
import { InputGate } from "./input-gate.ts";
import { type BarKey, keySequence, withControl } from "./key-bar.ts";
import { MouseModes } from "./mouse-modes.ts";
import { scrollByTouch } from "./touch-scroll.ts";

export interface TerminalStatus {
	readonly driver: Driver;
	/** This page drives. */
	readonly isMine: boolean;
	readonly isLive: boolean;
	readonly isEnded: boolean;
	readonly size: Grid;
	/** Whole lines fit in letters that can be read. */
	readonly isReadable: boolean;
	/** Who took over from this page, in words; null: nobody did. */
	readonly takenBy: string | null;
	/** The newest refusal, in the daemon's words. */
	readonly refused: string | null;
	/** The key bar's Ctrl is held for the next key. */
	readonly isControlHeld: boolean;
}

const START: TerminalStatus = {
	driver: { kind: "agent" },
	isMine: false,
	isLive: false,
	isEnded: false,
	size: { cols: 80, rows: 24 },
	isReadable: true,
	takenBy: null,
	refused: null,
	isControlHeld: false,
};

/** While driving, letters have one size and the grid follows the pane. */
const DRIVING_FONT_PX = 14;
const DRIVING_FONT_NARROW_PX = 12;
const NARROW_PX = 600;
const MIRROR_MS = 500;
/** A pane that is being dragged has many sizes, and programs draw themselves anew for each. */
const RESIZE_MS = 120;
const FOCUS_REPORT = /^\x1b\[[IO]$/;

export class LiveTerminal implements TerminalViewer, ShownScreen {
	readonly status = new Store(START);
	readonly mirror = new Store("");
	readonly #terminal: Terminal;
	readonly #socket: TerminalSocket;
	readonly #gate: InputGate;
	readonly #mouse: MouseModes;
	readonly #element: HTMLElement;
	#mirrorTimer: ReturnType<typeof setTimeout> | undefined;
	#resizeTimer: ReturnType<typeof setTimeout> | undefined;
	#pane: Pane = { width: 0, height: 0, showsAll: false };
	#cursorFrame: number | undefined;
	/** The newest refusal was of the terminal itself: it holds until there is a screen again. */
	#isUnseen = false;
	/** For which size and pane the letters were chosen. */
	#fitted = "";

	constructor(element: HTMLElement, open: () => Socket, actions: TerminalActions) {
		this.#element = element;
		this.#terminal = inertTerminal(START.size, actions);
		ignoreHeldElsewhere(element);
		this.#gate = new InputGate(element);
		this.#mouse = new MouseModes(this.#terminal.parser, (data) => this.#terminal.write(data));
		openIn(element, this.#terminal);
		scrollByTouch(this.#terminal, element);
		this.#terminal.onData((text) => this.#typed(text));
		this.#terminal.onBinary((text) => this.#typed(text));
		this.#terminal.onCursorMove(() => this.#followCursor());
		// While watching, keys are the page's shortcuts; some chords are so always.
		takeKeys(this.#terminal, actions, (event) => this.status.value.isMine && !isPageKey(event));
		element.addEventListener("paste", this.#pasted, { capture: true });
		for (const type of ["focusout", "mousedown"]) element.addEventListener(type, () => delete element.dataset.lost);
		this.#socket = new TerminalSocket(open, this);
		this.#socket.connect();
	}

	dispose(): void {
		clearTimeout(this.#mirrorTimer);
		clearTimeout(this.#resizeTimer);
		if (this.#cursorFrame !== undefined) cancelAnimationFrame(this.#cursorFrame);
		this.#element.removeEventListener("paste", this.#pasted, { capture: true });
		this.#socket.close();
		this.#terminal.dispose();
	}

	screenText(): string {
		return rowsOf(this.#terminal).join("\n");
	}

	selection(): string {
		return this.#terminal.getSelection();
	}

	focus(): void {
		this.#terminal.focus();
	}

	retryNow(): void {
		this.#socket.retryNow();
	}

	/** The pane has this size now. */
	layOut(pane: Pane): void {
		this.#pane = pane;
		if (pane.width <= 0 || pane.height <= 0) return;
		clearTimeout(this.#resizeTimer);
		if (this.status.value.isMine) {
			this.#resizeTimer = setTimeout(() => this.#fillPane(), RESIZE_MS);
			return;
		}
		this.#fit();
	}

	takeOver(): void {
		this.#change({ refused: null });
		if (this.status.value.isMine) this.focus();
		else this.#socket.take(this.#gridOfPane());
	}

	handBack(note: string): void {
		this.#terminal.blur();
		this.#socket.handBack(note);
	}

	secret(text: string): Promise<Outcome> {
		return this.#socket.secret(text);
	}

	answer(text: string): Promise<Outcome> {
		return this.#socket.answer(text);
	}

	decline(): Promise<Outcome> {
		return this.#socket.decline();
	}

	/** A key of the bar that phones have instead of a keyboard. */
	press(key: BarKey): void {
		if (key === "Ctrl") this.#change({ isControlHeld: !this.status.value.isControlHeld });
		else this.#gate.through(() => this.#typed(keySequence(key, this.#terminal.modes.applicationCursorKeysMode)));
		this.focus();
	}

	// What follows is called by the connection.

	reset(size: Grid, content: string, drawn: () => void): void {
		if (this.#isUnseen) this.#change({ refused: null });
		this.#isUnseen = false;
		this.#mouse.reset();
		drawScreen(this.#terminal, size, content, () => {
			drawn();
			this.#sized(size);
		});
	}

	write(bytes: Uint8Array, drawn: () => void): void {
		this.#terminal.write(bytes, () => {
			drawn();
			this.#mirrorSoon();
		});
	}

	resize(size: Grid): void {
		// An empty write: in order with the output before.
		this.#terminal.write("", () => {
			this.#terminal.resize(size.cols, size.rows);
			this.#sized(size);
		});
	}

	gap(from: number, to: number): void {
		this.#terminal.write(`\r\n\x1b[0;2m[${to - from} bytes of output are not kept]\x1b[0m\r\n`);
	}

	driver(driver: Driver, isMine: boolean): void {
		const { isMine: wasMine, driver: before, takenBy } = this.status.value;
		this.#terminal.options.disableStdin = !isMine;
		this.#terminal.options.cursorBlink = isMine;
		this.#mouse.drive(isMine);
		delete this.#element.dataset.lost;
		this.#change({
			driver,
			isMine,
			isControlHeld: false,
			takenBy: isMine || driver.kind !== "person" ? null : wasMine ? takerOf(driver.who, before) : takenBy,
			...(isMine && { refused: null }),
		});
		this.layOut(this.#pane);
		if (isMine && !wasMine) this.focus();
		// Somebody else took over in mid-word: what is typed on is lost, and no shortcut.
		if (wasMine && !isMine && this.#element.contains(document.activeElement)) this.#element.dataset.lost = "true";
	}

	ended(): void {
		this.#change({ isEnded: true });
	}

	refused(to: string, fault: FaultWords): void {
		this.#isUnseen = to === "watch";
		this.#change({ refused: [fault.message, fault.next].filter(Boolean).join(" ") });
	}

	connected(isLive: boolean): void {
		this.#change({ isLive });
	}

	get #grid(): Grid {
		const { cols, rows } = this.#terminal;
		return { cols, rows };
	}

	get #drivingFont(): number {
		return this.#pane.width < NARROW_PX ? DRIVING_FONT_NARROW_PX : DRIVING_FONT_PX;
	}

	// Measured with the font it will have: cells are whole pixels, so their shape differs from size to size.
	#gridOfPane(): Grid {
		this.#fitted = "";
		this.#terminal.options.fontSize = this.#drivingFont;
		const cell = cellShape(this.#terminal);
		return cell === null ? this.#grid : gridToFill(this.#pane, cell, this.#drivingFont);
	}

	#fillPane(): void {
		const { isMine, size } = this.status.value;
		if (!isMine) return;
		const grid = this.#gridOfPane();
		if (grid.cols !== size.cols || grid.rows !== size.rows) this.#socket.resize(grid);
	}

	/** A flood brings a new screen ten times a second: letters are measured only when they may not fit any more. */
	#fit(): void {
		const { cols, rows } = this.#grid;
		const { width, height, showsAll } = this.#pane;
		const fitted = [cols, rows, width, height, showsAll].join();
		if (fitted === this.#fitted) return;
		const letters = fitLetters(this.#terminal, this.#pane);
		if (letters === null) return;
		this.#fitted = fitted;
		if (letters.isReadable !== this.status.value.isReadable) this.#change(letters);
	}

	/** For who drives: others look where they like. */
	#followCursor(): void {
		if (!this.status.value.isMine) return;
		this.#cursorFrame ??= requestAnimationFrame(() => {
			this.#cursorFrame = undefined;
			showCursor(this.#terminal, this.#element);
		});
	}

	#sized({ cols, rows }: Grid): void {
		this.#change({ size: { cols, rows } });
		this.layOut(this.#pane);
		this.#mirrorSoon();
	}

	#typed(text: string): void {
		const { isMine, isControlHeld } = this.status.value;
		// The focus of a tab is the person's, and xterm.js reports it even when output asks for it.
		if (!isMine || !this.#gate.isOpen || FOCUS_REPORT.test(text)) return;
		this.#socket.input(isControlHeld ? withControl(text) : text);
		if (isControlHeld) this.#change({ isControlHeld: false });
	}

	// Before xterm.js, which would send it as keys: the daemon brackets and filters a paste.
	readonly #pasted = (event: ClipboardEvent): void => {
		event.preventDefault();
		event.stopImmediatePropagation();
		const text = event.clipboardData?.getData("text/plain") ?? "";
		if (event.isTrusted && this.status.value.isMine && text !== "") this.#socket.paste(text);
	};

	#mirrorSoon(): void {
		this.#mirrorTimer ??= setTimeout(() => {
			this.#mirrorTimer = undefined;
			this.mirror.set(this.screenText());
		}, MIRROR_MS);
	}

	#change(change: Partial<TerminalStatus>): void {
		this.status.set({ ...this.status.value, ...change });
	}
}

/** Two pages of one person have the same name. */
function takerOf(who: string, before: Driver): string {
	return before.kind === "person" && before.who === who ? `Another tab of ${who}` : who;
}

/** Chords that work while a person drives, too: programs in a terminal cannot tell them from others. */
export function isPageKey(event: Pick<KeyboardEvent, "ctrlKey" | "altKey" | "key">): boolean {
	return event.ctrlKey && event.altKey && /^[hk]$/i.test(event.key);
}
