// Every case of programs/, and which of them can be played here.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { missing } from "../programs.ts";
import type { Case } from "./case.ts";

export interface Corpus {
	readonly cases: readonly Case[];
	/** Cases left out because a program is missing. */
	readonly skipped: readonly { readonly program: string; readonly part: string }[];
}

export async function corpus(): Promise<Corpus> {
	const directory = join(import.meta.dirname, "programs");
	const files = readdirSync(directory).filter((file) => file.endsWith(".ts"));
	const all = await Promise.all(
		files.map(async (file) => ((await import(join(directory, file))) as { cases: Case[] }).cases),
	);
	const user = process.getuid?.() === 0 ? "root" : "normal";
	const cases: Case[] = [];
	const skipped: { program: string; part: string }[] = [];
	for (const one of all.flat().filter((one) => (one.user ?? user) === user)) {
		const [program] = missing(...one.needs);
		if (program === undefined) cases.push(one);
		else skipped.push({ program, part: `case "${one.name}"` });
	}
	return { cases, skipped };
}
