// One answer in the words all surfaces share: some give facts, some give the text
// a model reads, and a behaviour must look the same in both.

import { isClean } from "../../src/protocol/clean.ts";
import { sessionFactsSchema } from "../../src/tools/facts.ts";

export interface Turn {
	/** `waiting for line`, `ended 3`, `ended SIGTERM`, `working`, … */
	readonly state: string;
	/** What the program printed, as it was told. */
	readonly output: string;
}

/** What a surface gave back, before it is brought to one form. */
export type Given = { readonly facts: object } | { readonly text: string };

export function turnOf(given: Given): Turn {
	return "facts" in given ? fromFacts(given.facts) : fromText(given.text);
}

function fromFacts(facts: object): Turn {
	const { exit, activity, waitingFor, text } = sessionFactsSchema.parse(facts);
	if (exit !== null) return { state: `ended ${exit.signal ?? exit.code}`, output: text };
	return { state: activity === "waiting" ? `waiting for ${waitingFor}` : String(activity), output: text };
}

function fromText(text: string): Turn {
	const [header = "", ...rest] = text.split("\n");
	if (!isClean(text)) throw new Error(`not clean: ${JSON.stringify(text)}`);
	const fence = /^<<([a-z]+-[0-9a-f]{3,})\n([\s\S]*)\n\1$/m.exec(rest.join("\n"));
	const output = fence?.[2] ?? "";
	const waiting = /waiting for (?:a (command|line|key|secret),|keys \(full (screen)\))/.exec(header);
	if (waiting !== null) return { state: `waiting for ${waiting[1] ?? waiting[2]}`, output };
	const ended = /ended(?:,|:) (?:exit code (\d+)|.*?(SIG\w+))/.exec(header);
	if (ended !== null) return { state: `ended ${ended[1] ?? ended[2]}`, output };
	const activity = /\] (?:matched; )?(serving|stopped|still running|still working)/.exec(header)?.[1] ?? header;
	return { state: { "still running": "listening", "still working": "working" }[activity] ?? activity, output };
}

/** A refusal, as far as the surface tells it: those made for models have words and no code. */
export class Refused extends Error {
	readonly code: string | null;
	readonly next: string | null;

	constructor(refusal: { code?: string; message: string; next?: string }) {
		super(refusal.message);
		this.code = refusal.code ?? null;
		this.next = refusal.next ?? null;
	}
}
