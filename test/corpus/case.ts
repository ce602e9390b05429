// One program of the corpus: how to start it, what to type, and the truth after each step.
//
// To add a program, add a file to programs/. The truth is what a person who knows the
// program would say, never what Dialtone said.

import { named } from "../programs.ts";

/**
 * What is true after a step:
 * - line: type a line and Enter, whoever edits the line: the terminal or the program
 * - key: one key is enough (more, "press any key", a menu that takes arrow keys)
 * - screen: a full-screen program (an editor, less, a dialog)
 * - secret: what is typed is not shown
 * - command: a shell at its prompt; `line` is right, too, where the shell has no marks
 * - busy: whatever it does, it is not your turn; watched for `forMs`
 * - serving, stopped: not your turn either, and it should be called that
 * - ended
 */
export type Truth = "line" | "key" | "screen" | "secret" | "command" | "busy" | "serving" | "stopped" | "ended";

export interface Step {
	/** Typed, then Enter. */
	readonly line?: string;
	/** Typed as it is. */
	readonly text?: string;
	readonly keys?: readonly string[];
	/** The terminal gets this many rows. */
	readonly rows?: number;
	readonly truth: Truth;
	/** What the screen shows by then: an answer before that is too early. */
	readonly shows?: RegExp;
	/** For `busy`: how long it stays so. Default 700 ms. */
	readonly forMs?: number;
}

export interface Case {
	readonly name: string;
	/** Programs it runs that a bare Debian lacks: those that its arguments, lines and environment name, and others it declares. See test/programs.ts. */
	readonly needs: readonly string[];
	/** Program and arguments, or what makes them once its server runs. */
	readonly start: readonly string[] | ((place: Place) => Promise<readonly string[]> | readonly string[]);
	readonly env?: Readonly<Record<string, string>>;
	/** The first is the truth after the start. */
	readonly steps: readonly Step[];
	/** Why it is still judged wrong. It stays in the table, and counts. */
	readonly known?: string;
	/** Needs root, or must not have it. */
	readonly user?: "root" | "normal";
}

/** A directory of its own for each case, which is also its HOME and its working directory. */
export interface Place {
	readonly directory: string;
	/** What has to end with the case. */
	readonly defer: (undo: () => Promise<void> | void) => void;
	/** A server that several cases share, started by the first. */
	readonly share: <T extends AsyncDisposable>(name: string, start: () => Promise<T>) => Promise<T>;
}

/** Shorthand for a program whose every step is written out. */
export function program(name: string, start: Case["start"], steps: readonly Step[], more: Partial<Case> = {}): Case {
	const argv = typeof start === "function" ? [] : start;
	const typed = steps.flatMap(({ line }) => line ?? []);
	// A pager or an editor is named by the environment.
	const needs = [...(more.needs ?? []), ...named([...argv, ...typed, ...Object.values(more.env ?? {})])];
	return { name, start, steps, ...more, needs };
}
