// The person's own terminal while it is attached to a session: raw mode, its size,
// and restoring it, whatever happens (R3.7).

const ESC = "\x1b";

/** The title is saved, and what is on the screen: a session is shown on the alternate screen. */
const TAKE = `${ESC}[22;0t${ESC}[?1049h`;

/**
 * Undoes what a program may have switched on and not reset: synchronized output, mouse reports, focus reports, bracketed
 * paste, application keys, kitty keys, insert and origin mode, margins, colours, another cursor.
 */
const RESET = [
	`${ESC}[?2026l`,
	`${ESC}[?1000;1002;1003;1004;1005;1006;1015;1016l`,
	`${ESC}[?2004l`,
	`${ESC}[?1l${ESC}>`,
	`${ESC}[<9u`,
	`${ESC}[4l${ESC}[?6l${ESC}[?7h`,
	`${ESC}[r`,
	`${ESC}[0m${ESC}(B`,
	`${ESC}[0 q${ESC}[?25h`,
].join("");

// Resetting the margins moved the cursor; leaving the alternate screen puts it back where it was. A terminal that has none
// continues on the last line.
const GIVE_BACK = `${RESET}${ESC}[999;1H${ESC}[?1049l${ESC}[23;0t`;

export interface PersonTerminal extends Disposable {
	readonly cols: number;
	readonly rows: number;
	onKeys(listener: (bytes: Uint8Array) => void): void;
	onSize(listener: (cols: number, rows: number) => void): void;
	/** This process is being terminated: a hang-up or another signal. */
	onTerminated(listener: (signal: NodeJS.Signals) => void): void;
	show(bytes: Uint8Array | string): void;
}

/** Takes the terminal until it is disposed of. */
export function takeTerminal(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream): PersonTerminal {
	const undo: (() => void)[] = [];
	const wasRaw = stdin.isRaw;
	let given = true;
	const giveBack = () => {
		if (!given) return;
		given = false;
		for (const step of undo) step();
		stdin.pause();
		stdout.write(GIVE_BACK);
		stdin.setRawMode(wasRaw);
	};
	const on = (emitter: NodeJS.EventEmitter, event: string, listener: (...args: never[]) => void) => {
		emitter.on(event, listener as (...args: unknown[]) => void);
		undo.push(() => emitter.off(event, listener as (...args: unknown[]) => void));
	};

	stdin.setRawMode(true);
	stdout.write(TAKE);
	// Last resort: an exception or process.exit anywhere must not leave the terminal in raw mode.
	process.once("exit", giveBack);
	return {
		get cols() {
			return stdout.columns;
		},
		get rows() {
			return stdout.rows;
		},
		onKeys: (listener) => {
			on(stdin, "data", listener);
			stdin.resume();
		},
		onSize: (listener) => on(stdout, "resize", () => listener(stdout.columns, stdout.rows)),
		onTerminated: (listener) => {
			for (const signal of ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"] as const)
				on(process, signal, () => listener(signal));
		},
		show: (bytes) => void stdout.write(bytes),
		[Symbol.dispose]: () => {
			giveBack();
			process.off("exit", giveBack);
		},
	};
}
