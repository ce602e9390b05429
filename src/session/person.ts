// What a person does to a session, through an attached terminal or the page. The lease is checked where
// everything is typed (driver-lease.ts); here it is said how each act is typed, and counted.

import type { PersonAct, PersonDone, WholeAct } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import { countInput, linesIn } from "../terminal/input-counts.ts";
import { maskFromNowOn } from "./secret-spellings.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { compose } from "./typing.ts";

const NONE: PersonDone = {};
/** How long a secret or an answer is tells something about it. */
const UNCOUNTED = { keys: 0, lines: 0 };
const withId = (id: string | undefined) => (id === undefined ? {} : { id });

/** What is done with its terminal. */
type TerminalAct = Exclude<PersonAct, WholeAct>;

export async function actAsPerson(sessions: Sessions, session: Session, act: TerminalAct): Promise<PersonDone> {
	const { driving } = session;
	switch (act.act) {
		case "take":
			if (session.ended) throw session.endFault({ onlyRead: true });
			return { lease: driving.take(act.who, act.lease) };
		case "hand-back":
			driving.handBack(act.lease, act.note?.trim() || null);
			return NONE;
		case "keys": {
			const bytes = Buffer.from(act.base64, "base64");
			const { repeated } = await session.type(bytes, { as: act, ...withId(act.id) });
			if (!repeated) driving.typed(countInput(bytes));
			return NONE;
		}
		case "paste": {
			// They see what each line does: as a terminal pastes, whether the program knows of pastes or not.
			const [paste] = compose({ paste: act.text, force: true }, () => session.screen.modes);
			const counts = { keys: 0, lines: linesIn(act.text) };
			const { repeated } = await session.type(paste, { as: act, counts, ...withId(act.id) });
			if (!repeated) driving.typed(counts);
			return NONE;
		}
		case "resize":
			await sessions.resize(session, act, { as: act, signal: session.whileAttached });
			return NONE;
		case "secret":
			await session.refresh();
			maskFromNowOn(act.text);
			await enter(session, act, {
				isAsked: () => session.attention.waitingFor === "secret",
				what: "a secret",
				onTyping: () => driving.report("secret", act.who),
			});
			return NONE;
		case "answer":
			await enter(session, act, {
				isAsked: () => session.awaitsPerson(),
				what: "an answer",
				onTyping: () => driving.report("answered", act.who),
			});
			return NONE;
		case "decline":
			if (!session.awaitsPerson()) throw notAsked(session, "an answer");
			driving.report("declined", act.who);
			await session.declineQuestion();
			return NONE;
	}
}

/** One line and Enter, if it is asked for in the moment it is typed. */
async function enter(
	session: Session,
	{ text, who, lease, id }: Extract<PersonAct, { act: "secret" | "answer" }>,
	{ isAsked, what, onTyping }: { isAsked: () => boolean; what: string; onTyping: () => void },
): Promise<void> {
	// The first would be entered, and the rest be an answer to whatever comes next.
	if (/[\r\n]/.test(text)) throw new Fault("bad_input", { problems: [`${what} is one line`] });
	const [line] = compose({ text, submit: true }, () => session.screen.modes);
	const checked = () => {
		if (!isAsked()) throw notAsked(session, what);
		const bytes = line();
		onTyping(); // before the program can react to it, and a wait return
		return bytes;
	};
	await session.type(checked, { as: { person: who, lease }, counts: UNCOUNTED, ...withId(id) });
}

function notAsked({ id, name }: Session, what: string): Fault {
	return new Fault("not_asked", { id: name, sessionId: id, what });
}
