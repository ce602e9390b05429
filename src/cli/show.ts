// How a person sees an answer. Off a terminal it is what a model reads: an agent that has only
// a shell needs the fence. On a terminal the header is coloured, which no program's
// filtered text can imitate, so the fence is left out.

import type { ReadFacts, RunFacts, SessionFacts } from "../protocol/answer.ts";
import type { Answer, Client } from "../tools/client.ts";
import { type Colour, coloured } from "./colour.ts";
import type { Invocation } from "./command.ts";
import { drawingOnly, RESET_DRAWING } from "./drawing-only.ts";
import { badInput } from "./flags.ts";
import { drained } from "./stream-commands.ts";
import { MOST_TOKENS } from "./tool-verbs.ts";

const FENCED = /^([^\n]*) (?:rows)?<<(\d+)\n([\s\S]*)\n\2(?:\n([\s\S]*))?$/;

export function showText({ io }: Invocation, { text, facts }: Answer): void {
	const [, header, , output, notes] = (io.stdout.isTTY && FENCED.exec(text)) || [];
	if (header === undefined) {
		io.out(`${text}\n`);
		return;
	}
	const paint = coloured(io);
	io.out(
		`${paint(hasState(facts) ? stateColour(facts) : "dim", header)}\n${output}\n${notes ? `${paint("dim", notes)}\n` : ""}`,
	);
}

const hasState = (facts: object): facts is Pick<SessionFacts, "status" | "activity"> =>
	"status" in facts && "activity" in facts;

/** Yellow: it is your turn. */
export function stateColour({ status, activity }: Pick<SessionFacts, "status" | "activity">): Colour {
	if (status === "failed" || status === "stream_lost" || activity === "unresponsive") return "red";
	if (status !== "running") return "dim";
	return activity === "waiting" ? "yellow" : activity === "stopped" ? "dim" : "green";
}

const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** Only the command's own output, once it ended. */
export async function showRun(invocation: Invocation, answer: Answer<RunFacts>, client: Client): Promise<void> {
	const { io } = invocation;
	const { exitCode, timedOut, stdout, stderr, notices = [], shellNote = null, before } = answer.facts;
	if (exitCode === null) showText(invocation, answer);
	else {
		if (stdout !== undefined) io.out(ended(stdout));
		else await showOutput(invocation, answer.facts, client);
		for (const note of [...notices, ...(shellNote === null ? [] : [shellNote])]) io.err(`dialtone: ${note}\n`);
		if (before !== undefined)
			io.err(
				`dialtone: the command before ended with exit code ${before.exitCode ?? "unknown"}\n${ended(before.text)}`,
			);
	}
	if (stderr) io.err(ended(stderr));
	if (timedOut)
		io.err(
			invocation.flags.get("on-timeout") === "leave"
				? "dialtone: timed out; the command is still running\n"
				: "dialtone: the command timed out and was stopped\n",
		);
}

/** All of it, in pieces where that is more than one answer may have. */
async function showOutput({ io, flags }: Invocation, facts: RunFacts, client: Client): Promise<void> {
	const { session, text, lines, truncated } = facts;
	if (!truncated || lines === undefined || flags.get("max-tokens") !== undefined) {
		io.out(ended(text));
		return;
	}
	for (let { from, to } = lines; from <= to; ) {
		const piece = (await client.call("read", { session, from, to, maxTokens: MOST_TOKENS })).facts;
		// The mark of what comes next is its last line.
		const more = piece.missed != null;
		io.out(ended(more ? piece.text.slice(0, piece.text.lastIndexOf("\n")) : piece.text));
		from = more ? piece.missed!.from : to + 1;
		await drained(io, new AbortController().signal);
	}
}

/** Bytes and pictures are written as they are, to a terminal what of them draws; what there was no room for is told beside them. */
export function showRead(invocation: Invocation, answer: Answer<ReadFacts>): void {
	const { io } = invocation;
	const { base64, picture, text } = answer.facts;
	const bytes = picture?.base64 ?? base64;
	if (picture !== undefined && io.stdout.isTTY)
		throw badInput("a picture is no text: write it to a file, such as > screen.png");
	if (bytes === undefined) showText(invocation, answer);
	else if (io.stdout.isTTY)
		io.out(Buffer.concat([drawingOnly()(Buffer.from(bytes, "base64")), Buffer.from(RESET_DRAWING)]));
	else io.out(Buffer.from(bytes, "base64"));
	if (base64 !== undefined && text !== "") io.err(`${text}\n`);
}
