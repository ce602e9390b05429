// Connects a person's terminal to a session: their keys in, its output out, until it ends or
// they detach. Detaching ends nothing, and leaves their terminal as it was: a session is shown on
// the alternate screen, drawn from the daemon's picture of it and continued by its output.

import type { SessionFacts } from "../protocol/answer.ts";
import { shellWord } from "../protocol/command-words.ts";
import { Fault } from "../protocol/fault.ts";
import { userName } from "../pty/user-name.ts";
import { within } from "../pty/wait.ts";
import type { Client } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { detachKey } from "./detach-key.ts";
import { EXIT, exitCodeOfProgram } from "./exit-codes.ts";
import { isNotReached, lasting } from "./lasting-stream.ts";
import { type PersonTerminal, takeTerminal } from "./person-terminal.ts";
import { look, lookAt } from "./session-named.ts";
import { drained } from "./stream-commands.ts";
import { forPerson } from "./terminal-queries.ts";

const BELL = "\x07";
// As long as tmux shows a message, and a little longer: this one is read once.
const HINT_MS = 2_000;
/** Who detaches does not wait longer for an answer to what they typed. */
const LEAVING_MS = 2_000;
const HOW_TO_LEAVE = "Ctrl+\\ twice detaches";
const UNSURE = "what you typed last may not have arrived";

export async function attach(invocation: Invocation): Promise<number> {
	const { io, flags, words } = invocation;
	const session = words[0] ?? "-";
	if (!io.stdin.isTTY || !io.stdout.isTTY)
		throw new Fault("not_supported", {
			what: "Attaching without a terminal",
			instead: `Use \`dialtone logs -f ${shellWord(session)}\` to follow and \`dialtone send ${shellWord(session)} …\` to type.`,
		});
	await using client = await invocation.dependencies.connect();
	const facts = await look(invocation, client, session);
	if (facts.exit === null) return await watchAndType(invocation, client, facts, flags.on("watch"));
	io.out(`${facts.text}\n`);
	io.err(`[dialtone: ${facts.name} has ended: ${describe(facts)}]\n`);
	return exitCodeOfProgram(facts.exit);
}

async function watchAndType(
	invocation: Invocation,
	client: Client,
	first: SessionFacts,
	watching: boolean,
): Promise<number> {
	const { io } = invocation;
	const { session, name, owner } = first;
	const whose = owner === undefined ? name : `${name} of ${owner}`;
	let left: "detached" | NodeJS.Signals | null = null;
	let view = new AbortController();
	let redrawing = false;
	// The session's machine is not reached: keys are not passed on, neither now nor later.
	let isAway = false;
	// Something was typed before that was known, and nobody says whether it has arrived.
	let isUnsure = false;
	const detach = (how: "detached" | NodeJS.Signals) => {
		left ??= how;
		view.abort();
	};
	const redraw = () => {
		redrawing = true;
		view.abort();
	};
	{
		using terminal = takeTerminal(io.stdin, io.stdout);
		terminal.onTerminated(detach);
		// The one who types is the one who drives: an agent waits until they detach.
		const lease = watching ? null : ((await client.act(session, { act: "take", who: userName() })).lease ?? "");
		const driving = new AbortController();
		let hinted = ` ${watching ? "watching" : "attached to"} ${whose} · ${HOW_TO_LEAVE} `;
		let hinting = setTimeout(redraw, HINT_MS);
		const hint = (text: string) => {
			hinted = ` ${text} `;
			terminal.show(hintAt(terminal, first.cursor?.row ?? 1, hinted));
		};
		const tell = (error: unknown) => {
			// The session may end in the same moment: then the output stream ends.
			if (!(error instanceof Fault) || error.code === "session_ended") return;
			// As a terminal does when its program does not read.
			if (error.code === "queue_full") return terminal.show(BELL);
			// The picture that is asked for anew says so, and when that is over.
			if (isNotReached(error)) return isAway ? undefined : redraw();
			hint(`${HOW_TO_LEAVE} · ${error.message}`);
		};
		const waiting = (what: string) => {
			isAway = true;
			clearTimeout(hinting);
			hint(`${HOW_TO_LEAVE} · ${what}, waiting${lease === null ? "" : "; keys are not sent"}`);
		};
		const follow = async (cols: number, rows: number) => {
			if (lease !== null && !isAway) await client.act(session, { act: "resize", lease, cols, rows }).catch(tell);
		};
		const present = async () => {
			if (lease === null) return;
			const { signal } = driving;
			// Its connection keeps the lease.
			for await (const { driver, mine } of lasting({ open: () => client.drivers(session, { lease, signal }), signal }))
				if (!mine && driver.kind === "person") tell(new Fault("not_driving", { id: name, who: driver.who }));
		};
		const presence = present().catch(tell);
		// Before the first picture, so that it has their size.
		await follow(terminal.cols, terminal.rows);
		terminal.onSize((cols, rows) => void follow(cols, rows).then(redraw));
		// Keys are typed in the order they came, one write at a time, and none after one that may be missing.
		let typing = Promise.resolve();
		let unanswered = 0;
		const type = async (lease: string, base64: string) => {
			try {
				if (isUnsure) return;
				await client.act(session, { act: "keys", lease, base64 });
			} catch (error) {
				tell(error);
				if (isNotReached(error)) isAway = isUnsure = true;
			} finally {
				unanswered--;
			}
		};
		const keys = detachKey({
			type: (bytes) => {
				if (lease === null) return;
				if (isAway) return terminal.show(BELL);
				const base64 = Buffer.from(bytes).toString("base64");
				unanswered++;
				typing = typing.then(() => type(lease, base64));
			},
			detach: () => detach("detached"),
		});
		terminal.onKeys(keys);
		terminal.show(`\x1b]2;${name}\x07`);
		const reached = () => {
			isAway = false;
			hinted = isUnsure ? ` ${HOW_TO_LEAVE} · ${UNSURE} ` : ` ${whose} is reached again `;
			clearTimeout(hinting);
			if (!isUnsure) hinting = setTimeout(redraw, HINT_MS);
			isUnsure = false;
			void follow(terminal.cols, terminal.rows); // it may have another size by now, or another driver
		};
		try {
			do {
				redrawing = false;
				view = new AbortController();
				let shown = forPerson();
				const { signal } = view;
				const open = () => client.view(session, { signal });
				for await (const chunk of lasting({ open, signal, onAway: waiting })) {
					if ("snapshot" in chunk) {
						if (isAway) reached();
						terminal.show(forPerson()(Buffer.from(chunk.snapshot.content)).bytes);
						terminal.show(hintAt(terminal, first.cursor?.row ?? 1, hinted));
						hinted = "";
						shown = forPerson();
					} else if ("bytes" in chunk) {
						const { bytes, switched } = shown(chunk.bytes);
						terminal.show(bytes);
						if (switched) redraw();
					}
					await drained(io, signal); // a slow line holds the stream back, not our memory
				}
			} while (redrawing && left === null);
			const leave = async () => {
				await typing;
				// Nothing to hand back where it ended, or another has taken over.
				if (lease !== null) await client.act(session, { act: "hand-back", lease }).catch(() => {});
			};
			if (!isAway) await whileAnswered(leave(), () => unanswered).catch(() => {}); // without an answer
			isUnsure ||= unanswered > 0;
		} finally {
			clearTimeout(hinting);
			driving.abort();
			await presence;
		}
	}
	if (left !== null) {
		const how = isAway ? "which is not reached now" : "it keeps running";
		io.err(`[dialtone: detached from ${whose}; ${how}. Reattach: dialtone attach ${session}]\n`);
		if (isUnsure) io.err(`[dialtone: ${UNSURE}]\n`);
		return left === "detached" ? EXIT.ok : exitCodeOfProgram({ code: null, signal: left });
	}
	// Its last screen went with the alternate one.
	const last = await lookAt(invocation, client, session);
	if (last.text !== "") io.out(`${last.text}\n`);
	io.err(`[dialtone: ${name} has ended: ${describe(last)}]\n`);
	return exitCodeOfProgram(last.exit);
}

/** Rejects when nothing was answered for a while. */
async function whileAnswered(leaving: Promise<void>, unanswered: () => number): Promise<void> {
	for (;;) {
		const before = unanswered();
		try {
			return await within(LEAVING_MS, "leaving", leaving);
		} catch (error) {
			if (unanswered() === before) throw error;
		}
	}
}

/** A line for the moment, at the edge of the screen that is farther from the cursor. */
function hintAt({ cols, rows }: PersonTerminal, cursorRow: number, text: string): string {
	if (text === "") return "";
	const row = cursorRow > rows / 2 ? 1 : rows;
	return `\x1b7\x1b[?6l\x1b[${row};${Math.max(1, cols - text.length + 1)}H\x1b[0;7m${text.slice(0, cols)}\x1b[0m\x1b8`;
}

function describe({ status, exit }: SessionFacts): string {
	if (exit === null) return status;
	return exit.signal === null ? `exit code ${exit.code}` : exit.signal;
}
