// Connects a person's terminal to a session: their keys in, its output out, until it ends or
// they detach. Detaching ends nothing.

import type { SessionFacts } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { detachKey } from "./detach-key.ts";
import { EXIT, exitCodeOfProgram } from "./exit-codes.ts";
import { takeTerminal } from "./person-terminal.ts";
import { sessionNamed } from "./session-named.ts";
import { drained } from "./stream-commands.ts";
import { withoutQueries } from "./terminal-queries.ts";

const BELL = "\x07";

export async function attach(invocation: Invocation): Promise<number> {
	const { io, flags } = invocation;
	if (!io.stdin.isTTY || !io.stdout.isTTY)
		throw new Fault("not_supported", {
			what: "Attaching without a terminal",
			instead: "Use `dialtone logs -f` to follow and `dialtone send` to type.",
		});
	const session = sessionNamed(invocation);
	await using client = await invocation.dependencies.connect();
	const { facts } = await client.call("read", { session, view: "screen" });
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
	io.err(`[dialtone: attached to ${name}${readOnly ? ", read only" : ""}; detach with Ctrl+\\ twice]\n`);
	const detaching = new AbortController();
	let detachedBy: "detached" | NodeJS.Signals | null = null;
	const detach = (how: "detached" | NodeJS.Signals) => {
		detachedBy ??= how;
		detaching.abort();
	};
	{
		using terminal = takeTerminal(io.stdin, io.stdout);
		terminal.onTerminated(detach);
		const follow = async (cols: number, rows: number) => {
			// The session may end in the same moment: then there is nothing to resize, and the output stream ends.
			await client.call("resize", { session, cols, rows }).catch(() => {});
		};
		if (!readOnly) {
			// Before the snapshot, so that it has their size.
			await follow(terminal.cols, terminal.rows);
			terminal.onSize((cols, rows) => void follow(cols, rows));
		}
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
		const clean = withoutQueries();
		const { content, offset } = await client.snapshot(session);
		// What they had on their screen scrolls away instead of being painted over; the key stays visible in the title.
		terminal.show(`${"\n".repeat(terminal.rows)}\x1b]2;${name}: Ctrl+\\ twice detaches\x07`);
		terminal.show(clean(Buffer.from(content)));
		for await (const chunk of client.output(session, { from: offset, signal: detaching.signal })) {
			if ("bytes" in chunk) terminal.show(clean(chunk.bytes));
			await drained(io, detaching.signal); // a slow line holds the stream back, not our memory
		}
		await typing;
	}
	if (detachedBy !== null) {
		io.err(`\n[dialtone: detached from ${name}; it keeps running. Reattach: dialtone attach ${name}]\n`);
		return detachedBy === "detached" ? EXIT.ok : exitCodeOfProgram({ code: null, signal: detachedBy });
	}
	const { facts: last } = await client.call("read", { session, view: "screen" });
	io.err(`\n[dialtone: ${name} has ended: ${describe(last)}]\n`);
	return exitCodeOfProgram(last.exit);
}

function describe({ status, exit }: SessionFacts): string {
	if (exit === null) return status;
	return exit.signal === null ? `exit code ${exit.code}` : exit.signal;
}
