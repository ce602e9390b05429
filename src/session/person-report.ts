// What a person did, in the words that an agent is told.

import { type CleanLine, counted, inQuotes, joined, oneLine, safe } from "../protocol/clean.ts";
import type { PersonReport } from "./driver-lease.ts";

const MAX_NOTE_CHARS = 2000;

export function describeReport({ did, who, keys, pastedLines, note }: PersonReport): CleanLine {
	const person = safe`A person (${oneLine(who)})`;
	if (did === "secret") return safe`${person} typed the secret.`;
	if (did === "answered") return safe`${person} answered.`;
	if (did === "declined") return safe`${person} declined to answer.`;
	const typed = [
		...(keys > 0 ? [safe`typed ${counted(keys, "key")}`] : []),
		...(pastedLines > 0 ? [safe`pasted ${counted(pastedLines, "line")}`] : []),
	];
	const what = typed.length === 0 ? safe`took over, typed nothing` : joined(typed, ", ");
	const how = did === "left" ? safe` and left` : "";
	return note === null
		? safe`${person} ${what}${how}.`
		: safe`${person} ${what}; note: ${inQuotes(oneLine(note, MAX_NOTE_CHARS))}.`;
}
