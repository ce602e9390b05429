// Processes in a sentence: a few by name and number, and how many more there are.

import { type CleanLine, joined, oneLine, quoted, safe } from "./clean.ts";

const MAX_PROCESSES = 8;

export function processNames(processes: readonly { readonly pid: number; readonly command: string }[]): CleanLine {
	const named = processes.slice(0, MAX_PROCESSES).map(({ pid, command }) => safe`${quoted(oneLine(command))} (${pid})`);
	const more = processes.length - named.length;
	return safe`${joined(named, ", ")}${more > 0 ? safe` and ${more} more` : ""}`;
}
