// The person's own terminal while it is attached to a session: raw mode, its size,
// and restoring it, whatever happens (R3.7).

const ESC = "\x1b";

/**
 * Undoes what a program may have switched on and not reset: the alternate screen, a hidden cursor, mouse reports, focus
 * reports, bracketed paste, application keys, margins, kitty keys, colours.
 */
const RESET = [
	`${ESC}[?1049l`,
	`${ESC}[?25h`,
	`${ESC}[?1000;1002;1003;1004;1005;1006;1015l`,
	`${ESC}[?2004l`,
	`${ESC}[?1l${ESC}>`,
	`${ESC}[r`,
	`${ESC}[<9u`,
	`${ESC}[0m`,
].join("");

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
		stdout.write(RESET);
		stdin.setRawMode(wasRaw);
	};
	const on = (emitter: NodeJS.EventEmitter, event: string, listener: (...args: never[]) => void) => {
		emitter.on(event, listener as (...args: unknown[]) => void);
		undo.push(() => emitter.off(event, listener as (...args: unknown[]) => void));
	};

	stdin.setRawMode(true);
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
