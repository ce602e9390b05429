// Connects a person's terminal to a session: their keys in, its output out, until it ends or
// they detach. Detaching ends nothing, and leaves their terminal as it was: a session is shown on
// the alternate screen, drawn from the daemon's picture of it and continued by its output.

import type { SessionFacts } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { detachKey } from "./detach-key.ts";
import { EXIT, exitCodeOfProgram } from "./exit-codes.ts";
import { type PersonTerminal, takeTerminal } from "./person-terminal.ts";
import { onSession } from "./session-named.ts";
import { drained } from "./stream-commands.ts";
import { forPerson } from "./terminal-queries.ts";

const BELL = "\x07";
// As long as tmux shows a message, and a little longer: this one is read once.
const HINT_MS = 2_000;

export async function attach(invocation: Invocation): Promise<number> {
	const { io, flags } = invocation;
	if (!io.stdin.isTTY || !io.stdout.isTTY)
		throw new Fault("not_supported", {
			what: "Attaching without a terminal",
			instead: "Use `dialtone logs -f` to follow and `dialtone send` to type.",
		});
	await using client = await invocation.dependencies.connect();
	const look = (session: string) => client.call("read", { session, view: "screen" });
	const { facts } = await onSession(invocation, client, invocation.words[0]!, look);
	if (facts.exit === null) return await watchAndType(invocation, client, facts, flags.on("read-only"));
	io.out(`${facts.text}\n`);
	io.err(`[dialtone: ${facts.name} has ended: ${describe(facts)}]\n`);
	return exitCodeOfProgram(facts.exit);
}

async function watchAndType(
	invocation: Invocation,
	client: Client,
	first: SessionFacts,
	readOnly: boolean,
): Promise<number> {
	const { io } = invocation;
	const { session, name } = first;
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
		const follow = async (cols: number, rows: number) => {
			// The session may end in the same moment: then there is nothing to resize, and the output stream ends.
			if (!readOnly) await client.call("resize", { session, cols, rows }).catch(() => {});
		};
		// Before the first picture, so that it has their size.
		await follow(terminal.cols, terminal.rows);
		terminal.onSize((cols, rows) => void follow(cols, rows).then(redraw));
		// Keys are typed in the order they came, one write at a time.
		let typing = Promise.resolve();
		const keys = detachKey({
			type: (bytes) => {
				if (readOnly) return;
				const typed = typing.then(() => client.type(session, bytes));
				typing = typed.catch((error) => {
					// As a terminal does when its program does not read. Anything else is the end of the session, as for resize.
					if (error instanceof Fault && error.code === "queue_full") terminal.show(BELL);
				});
			},
			detach: () => detach("detached"),
		});
		terminal.onKeys(keys);
		terminal.show(`\x1b]2;${name}\x07`);
		const hint = setTimeout(redraw, HINT_MS);
		let hinted = ` attached to ${name}${readOnly ? ", read only" : ""} · Ctrl+\\ twice detaches `;
		try {
			do {
				redrawing = false;
				view = new AbortController();
				const { content, offset } = await client.snapshot(session);
				terminal.show(forPerson()(Buffer.from(content)).bytes);
				terminal.show(hintAt(terminal, first.cursor?.row ?? 1, hinted));
				hinted = "";
				const shown = forPerson();
				for await (const chunk of client.output(session, { from: offset, signal: view.signal })) {
					if (!("bytes" in chunk)) continue;
					const { bytes, switched } = shown(chunk.bytes);
					terminal.show(bytes);
					if (switched) redraw();
					await drained(io, view.signal); // a slow line holds the stream back, not our memory
				}
			} while (redrawing && left === null);
			await typing;
		} finally {
			clearTimeout(hint);
		}
	}
	if (left !== null) {
		io.err(`[dialtone: detached from ${name}; it keeps running. Reattach: dialtone attach ${name}]\n`);
		return left === "detached" ? EXIT.ok : exitCodeOfProgram({ code: null, signal: left });
	}
	// Its last screen went with the alternate one.
	const { facts: last } = await client.call("read", { session, view: "screen" });
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
