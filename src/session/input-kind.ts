// What a waiting program wants: a line, one key, keys for its full screen, or a secret. Pure.
//
// In line mode the terminal edits the line, and its echo tells a secret. In raw mode the program reads
// keys, and what it makes of them shows in three places: in the screen (alternate, keypad, paste and cursor
// modes), in the terminal's settings (who edits a line takes the editing keys from the terminal; who wants one
// key only turns line mode off), and in the line under the cursor. Rows in order, the first that applies decides.

import type { WaitingFor } from "../protocol/answer.ts";
import type { InnerTerminal, KernelFacts, TerminalFlag } from "../protocol/kernel-facts.ts";
import type { ScreenFacts } from "./attention.ts";
import { type LineShape, shapeOf } from "./last-line.ts";

export type Modes =
	| Pick<KernelFacts, "canonical" | "echo" | "flags">
	| Pick<InnerTerminal, "canonical" | "echo" | "flags">;

export interface InputKind {
	readonly kind: Exclude<WaitingFor, "command">;
	/** Modes and, in raw mode, what decided. */
	readonly because: string;
}

interface Clues {
	readonly modes: Modes;
	readonly screen: ScreenFacts;
	readonly shape: LineShape;
	/** Null where the holder does not tell the terminal's settings. */
	readonly flags: ReadonlySet<TerminalFlag> | null;
	/** The terminal is one within a multiplexer's: the full screen is the multiplexer's own. */
	readonly relayed: boolean;
	/** Since it waited for a line, only text was typed: no Enter, no other key. */
	readonly midLine: boolean;
}

interface Row {
	readonly kind: InputKind["kind"];
	readonly because: string;
	readonly applies: (clues: Clues) => boolean;
}

/** A list of completions ends this many rows below the line at the most. */
const MOST_BELOW_LINE = 10;

/** A line editor has a use of its own for Ctrl+V, and for that takes it from the terminal. Pagers do, too. */
const tookEditingKeys = ({ flags, shape }: Clues) => flags !== null && !flags.has("lnext") && shape !== "pager";
const onlyLineModeOff = ({ flags }: Clues) => flags?.has("icrnl") === true && flags.has("iexten");
const asks = ({ shape }: Clues) => shape === "prompt" || shape === "question" || shape === "menu";

const RAW_ROWS: readonly Row[] = [
	{
		kind: "secret",
		because: "asks for a secret",
		applies: ({ modes, screen, shape }) => shape === "secret" && modes.echo !== true && !screen.alternate,
	},
	{
		kind: "line",
		because: "edits the line itself",
		applies: (clues) =>
			clues.relayed && tookEditingKeys(clues) && (clues.screen.bracketedPaste || !onlyLineModeOff(clues)),
	},
	{ kind: "screen", because: "alternate screen", applies: ({ screen }) => screen.alternate },
	{
		// Where there is no alternate screen, or the program does not use it. Some shells switch these keys on at their prompt.
		kind: "screen",
		because: "draws the whole screen",
		applies: ({ screen, shape }) =>
			screen.applicationKeys && !screen.bracketedPaste && !(shape === "prompt" && screen.cursorVisible),
	},
	{
		kind: "screen",
		because: "shows a status line at the bottom",
		applies: (clues) => {
			const { screen, flags } = clues;
			if (asks(clues)) return false; // a toolbar
			return screen.footerBelow > MOST_BELOW_LINE || (screen.footerBelow > 0 && flags !== null && !flags.has("opost"));
		},
	},
	{ kind: "line", because: "shows a cursor of its own", applies: ({ screen }) => screen.drawnCursor },
	{ kind: "key", because: "hides the cursor", applies: ({ screen }) => !screen.cursorVisible },
	{ kind: "key", because: "asks for a key", applies: ({ shape, midLine }) => shape === "completions" && !midLine },
	{ kind: "line", because: "takes pastes as such", applies: ({ screen }) => screen.bracketedPaste },
	{ kind: "key", because: "asks for a key", applies: ({ shape }) => shape === "keypress" || shape === "pager" },
	{ kind: "key", because: "the terminal echoes each key", applies: ({ modes }) => modes.echo === true },
	{ kind: "line", because: "edits the line itself", applies: tookEditingKeys },
	{ kind: "line", because: "shows a prompt", applies: ({ shape }) => shape === "prompt" },
	{
		kind: "key",
		because: "only line mode is off",
		applies: onlyLineModeOff,
	},
	{
		kind: "key",
		because: "asks for one of several keys",
		applies: ({ shape, flags }) => shape === "choice" && flags?.has("opost") !== true,
	},
	{ kind: "line", because: "shows a prompt", applies: (clues) => asks(clues) || clues.shape === "choice" },
	{ kind: "line", because: "a line has been begun", applies: ({ midLine }) => midLine },
	// Something relays to a program that shows no prompt: lines are more common.
	{ kind: "line", because: "shows nothing", applies: ({ shape }) => shape === "empty" },
	{ kind: "key", because: "shows no prompt", applies: () => true },
];

export function inputKind(
	modes: Modes,
	screen: ScreenFacts,
	{ relayed = false, midLine = false }: { readonly relayed?: boolean; readonly midLine?: boolean } = {},
): InputKind {
	if (modes.canonical === true)
		return { kind: modes.echo === false ? "secret" : "line", because: `line mode, echo ${modes.echo ? "on" : "off"}` };
	const flags = modes.flags === undefined ? null : new Set(modes.flags);
	const clues: Clues = { modes, screen, shape: shapeOf(screen.lastLine), flags, relayed, midLine };
	const { kind, because } = RAW_ROWS.find((row) => row.applies(clues)) as Row;
	return { kind, because: `${modes.canonical === null ? "modes unknown" : "raw mode"}, ${because}` };
}
