// A program that looks at the keyboard between two sleeps cannot be told from one at work, until it has answered a few
// times: then calls on it no longer take their whole timeout.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Dialtone, type SessionFacts, type Terminal } from "../../src/index.ts";
import { needing } from "../programs.ts";

const PEEKS = ["python3", join(import.meta.dirname, "../fixtures/peeks.py")];
/** Longer than the quiet that teaches, so that each of these calls is a lesson. */
const LESSON = { timeoutMs: 3000 };
/** Only a call that waits for nothing takes this long. */
const PATIENT = { timeoutMs: 60_000 };
/** Far above what a busy machine needs, far below PATIENT. */
const SOON_MS = 15_000;

let home: string;
let file: string;
beforeEach(() => {
	home = mkdtempSync(join(tmpdir(), "dialtone-learnt-"));
	file = join(home, "learnt.json");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function start(dialtone: Dialtone): Promise<Terminal> {
	const terminal = await dialtone.start({ argv: PEEKS, timeoutMs: 0 });
	await terminal.wait({ until: { text: "ready:", only: true }, ...PATIENT });
	return terminal;
}

/** A machine so busy that the holder could not look in time: the answer is a guess, and no lesson. */
const isUnseen = ({ because }: SessionFacts) => because.includes("could not be inspected in time");

/** Types keys, of which the first two take the whole timeout, until the program is known: a look that hits it awake is no lesson. */
async function teach(terminal: Terminal): Promise<void> {
	let first = await terminal.wait(LESSON);
	while (isUnseen(first)) first = await terminal.wait(LESSON);
	expect(first.returned).toBe("timeout");
	for (const key of "abcdefghijklmnopqrstuvwxyz") {
		const answer = await terminal.send({ text: key, ...LESSON });
		if (isUnseen(answer)) continue;
		expect(answer.text).toContain(`got ${key}`);
		expect(answer.certainty).toBe("likely");
		if (answer.returned === "waiting") {
			expect(key >= "c").toBe(true);
			return;
		}
	}
	throw new Error("it was not learnt");
}

async function expectPrompt(terminal: Terminal, key: string): Promise<void> {
	const answer = await terminal.send({ text: key, ...PATIENT });
	expect(answer).toMatchObject({ returned: "waiting", certainty: "likely" });
	expect(answer.text).toContain(`got ${key}`);
	expect(answer.because).toContain("has taken input like this before");
	expect(answer.elapsedMs).toBeLessThan(SOON_MS);
}

test(
	"a look at the keyboard between sleeps is learnt, also for the next daemon; deleting the file forgets it",
	needing("python3"),
	async () => {
		{
			await using dialtone = await Dialtone.open({ home });
			const terminal = await start(dialtone);
			await teach(terminal);
			await expectPrompt(terminal, "z");
			await terminal.close();
		}
		expect(statSync(file).mode & 0o777).toBe(0o600);
		const { programs } = JSON.parse(readFileSync(file, "utf8"));
		expect(programs).toMatchObject([{ rest: "peeks", right: 3, wrong: 0 }]);
		{
			await using dialtone = await Dialtone.open({ home });
			const known = await start(dialtone);
			expect(await known.wait(PATIENT)).toMatchObject({ returned: "waiting", certainty: "likely" });
			await expectPrompt(known, "a");
			await known.close();

			rmSync(file);
			const forgotten = await start(dialtone);
			expect(await forgotten.wait(LESSON)).toMatchObject({ returned: "timeout", activity: "working" });
			await forgotten.close();
		}
		expect(existsSync(file)).toBe(false);
	},
);

test("a corrupt file is set aside, and everything works without it", needing("python3"), async () => {
	writeFileSync(file, '{"format": 1, "programs": [{"path": 7}]}', { mode: 0o600 });
	await using dialtone = await Dialtone.open({ home });
	expect(readdirSync(home)).toContain("learnt.json.corrupt-bad-content");
	const terminal = await start(dialtone);
	await teach(terminal);
	await expectPrompt(terminal, "z");
	await terminal.close();
});
