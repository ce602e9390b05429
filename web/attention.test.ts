import { expect, test } from "vitest";
import { changesToHear, needWords, newlyNeeding, titleOf } from "./attention.ts";
import type { PersonSession } from "./live/person-session.ts";
import { sampleSession } from "./live/sample-session.ts";

const listed = (...sessions: PersonSession[]) => new Map(sessions.map((session) => [session.session, session]));
const secret = {
	kind: "secret",
	since: 5,
	question: null,
	reason: null,
	program: "ssh",
	command: "ssh prod",
	host: "prod",
};

test("the tab's title says who needs a person", () => {
	expect(titleOf([], undefined)).toBe("Dialtone");
	expect(titleOf([], sampleSession({ name: "py" }))).toBe("py · Dialtone");
	expect(titleOf([sampleSession({ name: "py" })], undefined)).toBe("● py needs you · Dialtone");
	expect(titleOf([sampleSession(), sampleSession()], undefined)).toBe("● 2 need you · Dialtone");
});

test("a need is told once, and again when it is another one", () => {
	const quiet = sampleSession();
	const asking = sampleSession({ state: "secret", needs: secret });
	expect(newlyNeeding(listed(quiet), [asking])).toEqual([asking]);
	expect(newlyNeeding(listed(asking), [asking])).toEqual([]);
	expect(newlyNeeding(listed(asking), [sampleSession({ needs: { ...secret, since: 9 } })])).toHaveLength(1);
	expect(needWords(asking)).toBe("sh: ssh wants a secret for prod.");
});

test("needs and ends are heard; working and waiting are not", () => {
	const before = listed(sampleSession({ session: "a", name: "a" }), sampleSession({ session: "b", name: "b" }));
	const after = listed(
		sampleSession({ session: "a", name: "a", state: "waiting" }),
		sampleSession({ session: "b", name: "b", state: "ended", exit: { code: 1, signal: null } }),
		sampleSession({ session: "c", name: "new" }),
	);
	expect(changesToHear(before, after)).toEqual(["b ended with 1."]);
});
