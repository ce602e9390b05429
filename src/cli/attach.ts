// Connects a person's terminal to a session: their keys in, its output out, until it ends or
// they detach. Detaching ends nothing, and leaves their terminal as it was: a session is shown on
// the alternate screen, drawn from the daemon's picture of it and continued by its output.

import type { SessionFacts } from "../protocol/answer.ts";
import { shellWord } from "../protocol/command-words.ts";
import { Fault } from "../protocol/fault.ts";
import { userName } from "../pty/user-name.ts";
import type { Client } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { detachKey } from "./detach-key.ts";
import { EXIT, exitCodeOfProgram } from "./exit-codes.ts";
import { type PersonTerminal, takeTerminal } from "./person-terminal.ts";
import { look, lookAt } from "./session-named.ts";
import { drained } from "./stream-commands.ts";
import { forPerson } from "./terminal-queries.ts";

const BELL = "\x07";
// As long as tmux shows a message, and a little longer: this one is read once.
const HINT_MS = 2_000;

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
		let hinted = ` ${watching ? "watching" : "attached to"} ${whose} · Ctrl+\\ twice detaches `;
		const tell = (error: unknown) => {
			// The session may end in the same moment: then the output stream ends.
			if (!(error instanceof Fault) || error.code === "session_ended") return;
			// As a terminal does when its program does not read.
			if (error.code === "queue_full") return terminal.show(BELL);
			hinted = ` Ctrl+\\ twice detaches · ${error.message} `;
			terminal.show(hintAt(terminal, first.cursor?.row ?? 1, hinted));
		};
		const follow = async (cols: number, rows: number) => {
			if (lease !== null) await client.act(session, { act: "resize", lease, cols, rows }).catch(tell);
		};
		const present = async () => {
			if (lease === null) return;
			for await (const { driver, mine } of client.drivers(session, { lease, signal: driving.signal }))
				if (!mine && driver.kind === "person") tell(new Fault("not_driving", { id: name, who: driver.who }));
		};
		const presence = present().catch(tell);
		// Before the first picture, so that it has their size.
		await follow(terminal.cols, terminal.rows);
		terminal.onSize((cols, rows) => void follow(cols, rows).then(redraw));
		// Keys are typed in the order they came, one write at a time.
		let typing = Promise.resolve();
		const keys = detachKey({
			type: (bytes) => {
				if (lease === null) return;
				const base64 = Buffer.from(bytes).toString("base64");
				const typed = typing.then(() => client.act(session, { act: "keys", lease, base64 }));
				typing = typed.then(() => {}, tell);
			},
			detach: () => detach("detached"),
		});
		terminal.onKeys(keys);
		terminal.show(`\x1b]2;${name}\x07`);
		const hint = setTimeout(redraw, HINT_MS);
		try {
			do {
				redrawing = false;
				view = new AbortController();
				let shown = forPerson();
				for await (const chunk of client.view(session, { signal: view.signal })) {
					if ("snapshot" in chunk) {
						terminal.show(forPerson()(Buffer.from(chunk.snapshot.content)).bytes);
						terminal.show(hintAt(terminal, first.cursor?.row ?? 1, hinted));
						hinted = "";
						shown = forPerson();
					} else if ("bytes" in chunk) {
						const { bytes, switched } = shown(chunk.bytes);
						terminal.show(bytes);
						if (switched) redraw();
					}
					await drained(io, view.signal); // a slow line holds the stream back, not our memory
				}
			} while (redrawing && left === null);
			await typing;
			// Nothing to hand back where it ended, or another has taken over.
			if (lease !== null) await client.act(session, { act: "hand-back", lease }).catch(() => {});
		} finally {
			clearTimeout(hint);
			driving.abort();
			await presence;
		}
	}
	if (left !== null) {
		io.err(`[dialtone: detached from ${whose}; it keeps running. Reattach: dialtone attach ${session}]\n`);
		return left === "detached" ? EXIT.ok : exitCodeOfProgram({ code: null, signal: left });
	}
	// Its last screen went with the alternate one.
	const last = await lookAt(invocation, client, session);
	if (last.text !== "") io.out(`${last.text}\n`);
	io.err(`[dialtone: ${name} has ended: ${describe(last)}]\n`);
	return exitCodeOfProgram(last.exit);
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
