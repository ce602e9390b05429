import type { NamesInUse } from "../../session/start-spec.ts";

/** The name of the first number from `first` on that no session in memory has. */
export function freeNumber(names: NamesInUse, first: number, nameOf: (number: number) => string): string {
	for (let number = first; ; number++) if (!names.nameIsTaken(nameOf(number))) return nameOf(number);
}
