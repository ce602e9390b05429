// One answer in the words all surfaces share: some give facts, some give the text
// a model reads, and a behaviour must look the same in both.

import type { StartFacts } from "../../src/protocol/answer.ts";
import { isClean } from "../../src/protocol/clean.ts";
import type { FaultJson } from "../../src/protocol/fault.ts";
import { readFactsSchema } from "../../src/tools/facts.ts";

export interface Turn {
	/** `waiting for line`, `ended 3`, `ended SIGTERM`, `working`, … */
	readonly state: string;
	/** What the program printed, as it was told. */
	readonly output: string;
	/** Whether the condition that was given came true; null where none was. */
	readonly matched: boolean | null;
	/** Whether the answer says that this write was typed before. */
	readonly repeated: boolean;
	/** With view `raw`. */
	readonly bytes: Buffer | null;
}

/** What a surface gave back, before it is brought to one form. */
export type Given = { readonly facts: object } | { readonly text: string };

export function turnOf(given: Given): Turn {
	return "facts" in given ? fromFacts(given.facts) : fromText(given.text);
}

function fromFacts(facts: object): Turn {
	const { environment: _, ...answer } = facts as Partial<StartFacts>; // of `start` alone
	const { exit, activity, waitingFor, text, matched, repeated, base64 } = readFactsSchema.parse(answer);
	const running = activity === "waiting" ? `waiting for ${waitingFor}` : String(activity);
	return {
		state: exit === null ? running : `ended ${exit.signal ?? exit.code}`,
		output: text,
		matched,
		repeated: repeated === true,
		bytes: base64 === undefined ? null : Buffer.from(base64, "base64"),
	};
}

function fromText(text: string): Turn {
	const [header = "", ...rest] = text.split("\n");
	if (!isClean(text)) throw new Error(`not clean: ${JSON.stringify(text)}`);
	const word = /<<(\d{3,})$/.exec(header)?.[1];
	const output = word === undefined ? [] : rest.slice(0, rest.indexOf(word));
	const base64 = /^bytes \d+ to \d+: ([\w+/=]*)$/m.exec(text)?.[1];
	return {
		state: stateIn(header),
		output: output.join("\n"),
		matched: /\] matched, /.test(header) ? true : /\] not matched\b/.test(header) ? false : null,
		repeated: /\balready typed\b/.test(text),
		bytes: base64 === undefined ? null : Buffer.from(base64, "base64"),
	};
}

function stateIn(header: string): string {
	const waiting = /waiting(?: for a (command|key|secret)|, full (screen)|(?! for))/.exec(header);
	if (waiting !== null) return `waiting for ${waiting[1] ?? waiting[2] ?? "line"}`;
	const ended = /ended(?:,|:) (?:exit code (\d+)|.*?(SIG\w+))/.exec(header);
	if (ended !== null) return `ended ${ended[1] ?? ended[2]}`;
	const activity = /\b(working|running, takes input|serving|stopped)\b/.exec(header)?.[1] ?? header;
	return activity.startsWith("running") ? "listening" : activity;
}

/** A refusal: on every surface it has its code, its words and the facts behind them. */
export class Refused extends Error {
	readonly code: string;
	readonly next: string;
	readonly facts: unknown;

	constructor({ fault, message, next, facts }: FaultJson) {
		super(message);
		this.code = fault;
		this.next = next;
		this.facts = facts;
	}
}

/** A refusal in the shape of a result, as some tool sets have it. */
export class RefusedInShape extends Error {
	readonly code: string;
	readonly facts: object;

	constructor(code: string, facts: object) {
		super(`refused: ${code}`);
		this.code = code;
		this.facts = facts;
	}
}
