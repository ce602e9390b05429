// A person at a session: their keys go in, its output comes out, until it ends or
// they leave. Leaving ends nothing.

import type { SessionFacts } from "../protocol/answer.ts";
import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import type { Invocation } from "./command.ts";
import { detachKey } from "./detach-key.ts";
import { EXIT, exitCodeOfProgram } from "./exit-codes.ts";
import { lendTerminal } from "./person-terminal.ts";
import { sessionNamed } from "./session-named.ts";
import { withoutQueries } from "./terminal-queries.ts";

export async function attach(it: Invocation): Promise<number> {
	const { io, flags } = it;
	if (!io.stdin.isTTY || !io.stdout.isTTY)
		throw new Fault("not_supported", {
			what: "Attaching without a terminal",
			instead: "Use `dialtone logs -f` to follow and `dialtone send` to type.",
		});
	const session = sessionNamed(it);
	await using client = await it.dependencies.connect();
	const { facts } = await client.call("read", { session, view: "screen" });
	if (facts.exit === null) return await watchAndType(it, client, facts, flags.on("read-only"));
	io.out(`${facts.text}\n`);
	io.err(`[dialtone: ${facts.name} has ended: ${describe(facts)}]\n`);
	return exitCodeOfProgram(facts.exit);
}

async function watchAndType(it: Invocation, client: Client, first: SessionFacts, readOnly: boolean): Promise<number> {
	const { io } = it;
	const { session, name } = first;
	io.err(`[dialtone: attached to ${name}${readOnly ? ", reading only" : ""}; detach with Ctrl+\\ twice]\n`);
	const leaving = new AbortController();
	let left: "detached" | NodeJS.Signals | null = null;
	const leave = (how: "detached" | NodeJS.Signals) => {
		left ??= how;
		leaving.abort();
	};
	{
		using terminal = lendTerminal(io.stdin, io.stdout);
		terminal.onLeave(leave);
		const follow = async (cols: number, rows: number) => {
			// The session may end in the same moment: then there is nothing to resize, and the output says so itself.
			await client.call("resize", { session, cols, rows }).catch(() => {});
		};
		if (!readOnly) {
			// Before the snapshot, so that it is of their size.
			await follow(terminal.cols, terminal.rows);
			terminal.onSize((cols, rows) => void follow(cols, rows));
		}
		// Keys are typed in the order they came, one write at a time.
		let typing = Promise.resolve();
		const keys = detachKey({
			type: (bytes) => {
				if (readOnly) return;
				typing = typing.then(() => client.type(session, bytes)).catch(() => {}); // as for resize
			},
			detach: () => leave("detached"),
		});
		terminal.onKeys(keys);
		const clean = withoutQueries();
		const { content, offset } = await client.snapshot(session);
		// What they had on their screen scrolls away instead of being painted over; the key stays in sight in the title.
		terminal.show(`${"\n".repeat(terminal.rows)}\x1b]2;${name}: Ctrl+\\ twice detaches\x07`);
		terminal.show(clean(Buffer.from(content)));
		for await (const chunk of client.output(session, { from: offset, signal: leaving.signal })) {
			if ("bytes" in chunk) terminal.show(clean(chunk.bytes));
		}
		await typing;
	}
	if (left !== null) {
		io.err(`\n[dialtone: detached from ${name}; it goes on. Come back: dialtone attach ${name}]\n`);
		return left === "detached" ? EXIT.ok : exitCodeOfProgram({ code: null, signal: left });
	}
	const { facts: last } = await client.call("read", { session, view: "screen" });
	io.err(`\n[dialtone: ${name} has ended: ${describe(last)}]\n`);
	return exitCodeOfProgram(last.exit);
}

function describe({ status, exit }: SessionFacts): string {
	if (exit === null) return status;
	return exit.signal === null ? `exit code ${exit.code}` : exit.signal;
}
