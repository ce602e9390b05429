// Who may type into a session, and what a person does there: the same messages over the
// daemon's socket and to the page.

/** Agents (whoever calls the tools), or the one person who took over. */
export type DriverFacts =
	| { readonly kind: "agent" }
	| {
			readonly kind: "person";
			readonly who: string;
			/** Milliseconds since 1970. */
			readonly since: number;
			/** Grows with every change of the driver. */
			readonly epoch: number;
	  };

/** Somebody else drives, with what the one before had to say. */
export interface DriverChange {
	readonly driver: DriverFacts;
	readonly note: string | null;
}

/** The driver, as one observer sees it. */
export interface DriverView {
	readonly driver: DriverFacts;
	/** The observer's own lease is the one that counts. */
	readonly mine: boolean;
}

/** A line that was asked for, typed with Enter. `lease`: of the person who drives; another person's is refused then. */
interface Given {
	readonly who: string;
	readonly text: string;
	readonly lease?: string | undefined;
	readonly id?: string | undefined;
}

/** What a person does to a session. Those that need a lease are for the one who drives. */
export type PersonAct =
	/** With the lease of an earlier connection: goes on with it, and is refused if it has ended meanwhile. */
	| { readonly act: "take"; readonly who: string; readonly lease?: string | undefined }
	| { readonly act: "keys"; readonly lease: string; readonly base64: string; readonly id?: string | undefined }
	| { readonly act: "paste"; readonly lease: string; readonly text: string; readonly id?: string | undefined }
	| { readonly act: "resize"; readonly lease: string; readonly cols: number; readonly rows: number }
	| { readonly act: "hand-back"; readonly lease: string; readonly note?: string | undefined }
	/** The secret that the program asks for; kept nowhere. */
	| ({ readonly act: "secret" } & Given)
	/** For what `ask_human` asked. */
	| ({ readonly act: "answer" } & Given)
	| { readonly act: "decline"; readonly who: string }
	| WholeAct;

/** What a person does to a session as a whole, which may have ended. */
export type WholeAct =
	/** Ends it if it runs, and starts the same again as a new session. */
	| { readonly act: "restart"; readonly who: string }
	| { readonly act: "rename"; readonly who: string; readonly name: string }
	/** Deletes it with its output; refused while anything of it runs. */
	| { readonly act: "remove"; readonly who: string }
	/** Others are to see it: the link is made where it is asked for (http/shared-link.ts). */
	| { readonly act: "share"; readonly who: string };

export interface PersonDone {
	/** With `take`: what further acts need. A secret of the person who drives. */
	readonly lease?: string;
	/** With a WholeAct: the id and the name of the session that it is now. */
	readonly session?: string;
	readonly name?: string;
}

const WHOLE: ReadonlySet<PersonAct["act"]> = new Set<WholeAct["act"]>(["restart", "rename", "remove", "share"]);

export const isWholeAct = (act: PersonAct): act is WholeAct => WHOLE.has(act.act);
