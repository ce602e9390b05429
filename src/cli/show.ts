// How a person sees an answer. Off a terminal it is what a model reads: an agent that has only
// a shell needs the fence. On a terminal the header is coloured, which no program's
// filtered text can imitate, so the fence is left out.

import type { ReadFacts, RunFacts, SessionFacts } from "../protocol/answer.ts";
import type { Answer } from "../tools/client.ts";
import { type Colour, coloured } from "./colour.ts";
import type { Invocation } from "./command.ts";
import { badInput } from "./flags.ts";

const FENCED = /^([^\n]*) (?:rows)?<<(\d+)\n([\s\S]*)\n\2(?:\n([\s\S]*))?$/;

export function showText({ io }: Invocation, { text, facts }: Answer): void {
	const [, header, , output, notes] = (io.stdout.isTTY && FENCED.exec(text)) || [];
	if (header === undefined) {
		io.out(`${text}\n`);
		return;
	}
	const paint = coloured(io);
	io.out(`${paint(stateColour(facts as SessionFacts), header)}\n${output}\n${notes ? `${paint("dim", notes)}\n` : ""}`);
}

/** Yellow: it is your turn. */
export function stateColour({ status, activity }: Pick<SessionFacts, "status" | "activity">): Colour {
	if (status === "failed" || status === "stream_lost" || activity === "unresponsive") return "red";
	if (status !== "running") return "dim";
	return activity === "waiting" ? "yellow" : activity === "stopped" ? "dim" : "green";
}

const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

/** Only the command's own output, once it ended. */
export function showRun(invocation: Invocation, answer: Answer): void {
	const { io } = invocation;
	const { exitCode, timedOut, stdout, stderr, text, notices = [], shellNote = null } = answer.facts as RunFacts;
	if (exitCode === null) showText(invocation, answer);
	else {
		io.out(ended(stdout ?? text));
		for (const note of [...notices, ...(shellNote === null ? [] : [shellNote])]) io.err(`dialtone: ${note}\n`);
	}
	if (stderr) io.err(ended(stderr));
	if (timedOut)
		io.err(
			invocation.flags.get("on-timeout") === "leave"
				? "dialtone: the command timed out and goes on\n"
				: "dialtone: the command timed out and was stopped\n",
		);
}

/** Bytes and pictures are written as they are; what there was no room for is told beside them. */
export function showRead(invocation: Invocation, answer: Answer): void {
	const { io } = invocation;
	const { base64, picture, text } = answer.facts as ReadFacts;
	const bytes = picture?.base64 ?? base64;
	if (picture !== undefined && io.stdout.isTTY)
		throw badInput("a picture is no text: write it to a file, such as > screen.png");
	if (bytes === undefined) showText(invocation, answer);
	else io.out(Buffer.from(bytes, "base64"));
	if (base64 !== undefined && text !== "") io.err(`${text}\n`);
}
