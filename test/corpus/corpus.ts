// Every case that can be played here, from programs/.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { needs } from "../programs.ts";
import type { Case } from "./case.ts";

export async function corpus(): Promise<Case[]> {
	const directory = join(import.meta.dirname, "programs");
	const files = readdirSync(directory).filter((file) => file.endsWith(".ts"));
	const all = await Promise.all(
		files.map(async (file) => ((await import(join(directory, file))) as { cases: Case[] }).cases),
	);
	const user = process.getuid?.() === 0 ? "root" : "normal";
	return all.flat().filter((one) => (one.user ?? user) === user && needs(...one.needs));
}
