// A way to talk to a program, as an agent would have it, and the programs that it is measured with.

export interface Program {
	readonly name: string;
	readonly argv: readonly string[];
	/** One turn: typed, then Enter. */
	readonly answer: string;
	/** Its prompt, as pexpect's documentation writes such patterns. */
	readonly pattern: string;
	/** Works for a third of a second before it asks again. */
	readonly slow: boolean;
}

/** One program, reached in one way. */
export interface Line {
	/** Types a line; gives the moment (process.hrtime) at which the caller was told that it is its turn, null when it never was. */
	turn(text: string): Promise<bigint | null>;
}

export interface Caller extends AsyncDisposable {
	readonly name: string;
	/** Waits by the tenth of a second, so fewer turns must do. */
	readonly polls: boolean;
	open(program: Program, argv: readonly string[]): Promise<Line>;
}

/** Longer than any turn takes, even on a busy machine. */
export const PATIENCE_MS = 15_000;
