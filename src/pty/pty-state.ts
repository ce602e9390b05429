// The life of a terminal, as its owner sees it: states × events, and the one
// function that moves. Nothing else in this folder remembers whether a terminal
// is connected, fenced or over.

export const PTY_STATES = [
	/** No connection yet, or it broke and is being opened again. Requests wait for it. */
	"connecting",
	"connected",
	/** A request went unanswered past its deadline: the holder is stopped or stuck. */
	"unresponsive",
	/** A newer owner has taken over. Output goes on, requests are refused. */
	"fenced",
	/** The program has ended; something it left behind may still write to the terminal. */
	"exited",
	/** The holder is gone, and the rest of the output is being read from disk. */
	"gone",
	/** The last byte was delivered; nothing can follow. */
	"closed",
	/** Our side let go; the program goes on. */
	"disposed",
] as const;
export type PtyState = (typeof PTY_STATES)[number];

export const PTY_EVENTS = [
	"heard",
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

// What is not listed changes nothing.
const table: Readonly<Record<PtyState, Readonly<Partial<Record<PtyEvent, PtyState>>>>> = {
	connecting: { ...END, heard: "connected", silent: "unresponsive", fenced: "fenced", gone: "gone" },
	connected: { ...END, silent: "unresponsive", disconnected: "connecting", fenced: "fenced", gone: "gone" },
	unresponsive: { ...END, heard: "connected", fenced: "fenced", gone: "gone" },
	fenced: { ...END, gone: "gone" },
	exited: { closed: "closed", disposed: "disposed" },
	gone: END,
	closed: { disposed: "disposed" },
	disposed: {},
};

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
