// One behaviour as it is shown by one way in: the calls, and refusals compared with those of the way that came first.

import { expect } from "vitest";
import type { Behaviour } from "./behaviours.ts";
import type { Surface } from "./surfaces.ts";
import { Refused, RefusedInShape, type Turn, turnOf } from "./turn.ts";

export interface Conversation {
	/** Of the session that the behaviour is shown with; others begin with it. */
	readonly name: string;
	readonly talk: (tool: string, input: object, signal?: AbortSignal) => Promise<Turn>;
	/** Expects a refusal with this code, in the same words and with the same facts everywhere. */
	readonly refusal: (act: Promise<unknown>, code: string) => Promise<Refused>;
	/** Expects a refusal in the shape of the tool set's results. */
	readonly refusalInShape: (tool: string, input: object, code: string) => Promise<object>;
	/** What answers call a session of this name. */
	readonly called: (name: string) => string;
}

/** The refusals of each behaviour by the first way in: every other must pass on their words and facts. */
export type References = Map<string, readonly Refused[]>;

/** All that may differ where the sessions are another machine's: the names and ids of sessions begin with its name. */
export const namedOn = (host: string | null, text: string): string =>
	host === null ? text : text.replace(/\b(?:s\d+(?:-\w+)?|nobody|an id)\b/g, (reference) => `${host}/${reference}`);

export interface Shown {
	readonly surface: Surface;
	readonly name: string;
	readonly references: References;
	/** The machine whose sessions they are, if it is another one than the first way's. */
	readonly host?: string;
}

export async function showBehaviour(behaviour: Behaviour, shown: Shown): Promise<void> {
	const { surface, name, references, host = null } = shown;
	const refusals: Refused[] = [];
	const known = references.get(behaviour.what);
	await behaviour.show({
		name,
		talk: async (tool, input, signal) => turnOf(await surface.call(tool, input, signal)),
		refusal: async (act, code) => {
			if (!behaviour.refuses) throw new Error("the behaviour does not declare that it has refusals");
			const error = await thrownBy(act);
			if (!(error instanceof Refused)) throw error;
			expect(error.code).toBe(code);
			const reference = known?.[refusals.length];
			refusals.push(error);
			if (reference !== undefined) expectSame(error, reference, host);
			return error;
		},
		refusalInShape: async (tool, input, code) => {
			const error = await thrownBy(surface.call(tool, input));
			if (!(error instanceof RefusedInShape)) throw error;
			expect(error.code).toBe(code);
			return error.facts;
		},
		called: (own) => namedOn(host, own),
	});
	if (known === undefined) references.set(behaviour.what, refusals);
	else expect(refusals).toHaveLength(known.length);
}

const thrownBy = (act: Promise<unknown>): Promise<unknown> =>
	act.then(
		(answer) => new Error(`the call was not refused: ${JSON.stringify(answer)}`),
		(reason: unknown) => reason,
	);

function expectSame(refused: Refused, reference: Refused, host: string | null): void {
	expect(refused.message).toBe(namedOn(host, reference.message));
	// Each way in names its own tools.
	if (refused.code === "unknown_tool") return;
	expect(JSON.parse(comparable(refused))).toEqual(JSON.parse(namedOn(host, comparable(reference))));
}

/** Ids differ from run to run, names do not. */
const comparable = ({ next, facts }: Refused): string =>
	JSON.stringify({ next, facts }).replace(/\b[0-9a-z]{26}\b/g, "an id");
