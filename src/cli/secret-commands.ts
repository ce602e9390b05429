// Named secrets: what there is and whether it can be read. Values are never shown.

import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput } from "./flags.ts";
import { table } from "./table.ts";

export async function secrets({ words, json, io, dependencies }: Invocation): Promise<number> {
	const [word = "list", name] = words;
	const store = await dependencies.secrets();
	if (word === "test") {
		if (name === undefined) throw badInput("give the secret's name");
		const isReadable = await store.test(name);
		if (json) io.out(`${JSON.stringify({ name, readable: isReadable, person: !isReadable })}\n`);
		else io.out(isReadable ? `${name} can be read.\n` : `${name} is typed by a person.\n`);
		return EXIT.ok;
	}
	if (word !== "list") throw badInput(`secrets takes list or test, not "${word}"`);
	const all = store.list();
	if (json) io.out(`${JSON.stringify({ secrets: all })}\n`);
	else if (all.length === 0) io.err(`No secrets. Name them in ${store.file}: docs/secrets.md\n`);
	else {
		const rows = all.map(({ name, from, owners, programs, description }) => [
			name,
			from,
			owners?.join(", ") ?? "everybody",
			programs?.join(", ") ?? "any that asks",
			description ?? "",
		]);
		io.out(table([["NAME", "FROM", "FOR", "PROGRAMS", "DESCRIPTION"], ...rows]));
	}
	return EXIT.ok;
}
