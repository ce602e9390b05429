// A program's questions to its terminal are answered by the daemon alone: a second
// answer from each page that watches would reach the program as keystrokes. So nothing
// that xterm.js would answer reaches it, nor what would act on the person's window.

import type { IFunctionIdentifier, IParser } from "@xterm/xterm";

/** Device attributes, status reports, mode requests, versions, keyboard protocol, window operations. */
const CSI_QUERIES: readonly IFunctionIdentifier[] = [
	{ final: "c" },
	{ prefix: ">", final: "c" },
	{ prefix: "=", final: "c" },
	{ prefix: "?", final: "c" },
	{ final: "n" },
	{ prefix: "?", final: "n" },
	{ prefix: ">", final: "n" },
	{ intermediates: "$", final: "p" },
	{ prefix: "?", intermediates: "$", final: "p" },
	{ prefix: ">", final: "q" },
	{ prefix: "?", final: "u" },
	{ final: "x" },
	{ final: "t" },
	{ intermediates: "$", final: "w" },
	{ intermediates: "&", final: "w" },
	{ prefix: "?", final: "S" },
];

/** XTGETTCAP and DECRQSS. */
const DCS_QUERIES: readonly IFunctionIdentifier[] = [
	{ intermediates: "+", final: "q" },
	{ intermediates: "$", final: "q" },
];

/** Colours: to set them draws, to ask for them does not. */
const OSC_COLOURS = [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21];

/** Titles, working directory, notifications, progress, the clipboard, files and images: not the page's, whatever a program says. */
const OSC_INERT = [0, 1, 2, 7, 9, 50, 52, 99, 777, 1337, 5522];

export function makeInert(parser: IParser): void {
	for (const id of CSI_QUERIES) parser.registerCsiHandler(id, () => true);
	for (const id of DCS_QUERIES) parser.registerDcsHandler(id, () => true);
	for (const code of OSC_COLOURS) parser.registerOscHandler(code, (data) => data.includes("?"));
	for (const code of OSC_INERT) parser.registerOscHandler(code, () => true);
	parser.registerEscHandler({ final: "Z" }, () => true); // DECID
}
