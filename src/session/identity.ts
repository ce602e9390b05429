// Session ids and names: an id is generated and names a directory; a name is only a
// label.

import { createHash, randomBytes } from "node:crypto";
import { basename } from "node:path";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_LENGTH = 26;

/** 26 random characters: the first few are enough to tell sessions apart. */
export const newId = (): string => idFrom(randomBytes(ID_LENGTH));

/** The id of what a caller starts by an id of its own: another caller's "1" is another. */
export const startedId = (owner: string, id: string): string =>
	idFrom(
		createHash("sha256")
			.update(JSON.stringify([owner, id]))
			.digest()
			.subarray(0, ID_LENGTH),
	);

const idFrom = (bytes: Uint8Array): string => Array.from(bytes, (byte) => ALPHABET[byte % 32]).join("");

/** A short name for a command, unique among those taken: `python3`, `python3-2`. */
export function nameFor(command: string, taken: (name: string) => boolean): string {
	// The first word that is a program: past `sudo`, `env X=1` and the like.
	const words = command.trim().split(/\s+/);
	const program = words.find((word) => !/^(sudo|env|exec|nohup|time)$|=/.test(word)) ?? words[0] ?? "";
	const base =
		basename(program)
			.replace(/[^A-Za-z0-9._-]/g, "")
			.replace(/^[^A-Za-z0-9]+/, "")
			.slice(0, 24) || "session";
	if (!taken(base)) return base;
	for (let number = 2; ; number++) if (!taken(`${base}-${number}`)) return `${base}-${number}`;
}

/** The names that are given without being chosen: each owner has its own, so they never mean another owner's. */
export const isDefaultName = (name: string): boolean => /^(?:(?:main|bash|shell)(?:-\d+)?|bg_\d+|\d+)$/.test(name);

/** What to call each of these: by name; where two have the same, with the owner, or by id if that is the same, too. */
export function distinctNames(
	sessions: readonly { readonly id: string; readonly name: string; readonly owner: string | null }[],
): readonly string[] {
	return sessions.map(({ id, name, owner }) => {
		const same = sessions.filter((one) => one.name === name);
		if (same.length === 1) return name;
		return `${name} (${same.filter((one) => one.owner === owner).length === 1 ? owner : id})`;
	});
}
