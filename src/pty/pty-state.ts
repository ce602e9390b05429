// The lifecycle of a terminal, as its owner sees it: states × events, and the one
// transition function. Which requests are sent and whether there is another
// connection is decided by this state alone. What a connection is for (owner or
// reader, welcomed or not) is kept by holder-client.ts; how the program ended and
// what of its output is still to be delivered, by output-stream.ts.

export const PTY_STATES = [
	/** Not connected yet, or reconnecting. Requests wait. */
	"connecting",
	"connected",
	/** A request went unanswered past its deadline: the holder is stopped or stuck. */
	"unresponsive",
	/** A newer owner has taken over. Output continues, requests are refused. */
	"fenced",
	/** The program has ended; a background process may still write to the terminal. */
	"exited",
	/** The holder is gone, and the rest of the output is being read from disk. */
	"gone",
	/** The last byte was delivered; nothing can follow. */
	"closed",
	/** We have detached; the program keeps running. */
	"disposed",
] as const;
export type PtyState = (typeof PTY_STATES)[number];

export const PTY_EVENTS = [
	"responded",
	"silent",
	"disconnected",
	"fenced",
	"exited",
	"gone",
	"closed",
	"disposed",
] as const;
export type PtyEvent = (typeof PTY_EVENTS)[number];

const END = { exited: "exited", closed: "closed", disposed: "disposed" } as const;

// Events that are not listed change nothing.
const table: Readonly<Record<PtyState, Readonly<Partial<Record<PtyEvent, PtyState>>>>> = {
	connecting: { ...END, responded: "connected", silent: "unresponsive", fenced: "fenced", gone: "gone" },
	connected: { ...END, silent: "unresponsive", disconnected: "connecting", fenced: "fenced", gone: "gone" },
	unresponsive: { ...END, responded: "connected", fenced: "fenced", gone: "gone" },
	fenced: { ...END, gone: "gone" },
	exited: { gone: "gone", closed: "closed", disposed: "disposed" },
	gone: { closed: "closed", disposed: "disposed" },
	closed: { disposed: "disposed" },
	disposed: {},
};

/** There is no holder to connect to, or we want none. */
export const isOver = (state: PtyState): boolean => state === "gone" || state === "closed" || state === "disposed";

export const stateAfter = (state: PtyState, event: PtyEvent): PtyState => table[state][event] ?? state;

/** The code with which a request is refused in each state; null where it is sent. */
export const refusals: Readonly<
	Record<PtyState, "unresponsive" | "fenced" | "ended" | "lost" | "disconnected" | null>
> = {
	connecting: null,
	connected: null,
	unresponsive: "unresponsive",
	fenced: "fenced",
	exited: "ended",
	gone: "lost",
	closed: "ended",
	disposed: "disconnected",
};
