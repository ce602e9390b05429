// What a field means beyond its JSON type, told by the schema itself: accept-input.ts
// reads it to accept what is meant, and input-problems.ts to show what would be right.

import { z } from "zod";
import type { OptionName as NumberOption } from "../session/options.ts";

export interface FieldKind {
	/**
	 * `reference`: a number that names something (an offset, a port), never rounded to a bound · `keys`: named keys ·
	 * `words`: a program and its arguments · `directory`: a path in which `~` is the caller's home · `session`: a name or id,
	 * also as headers write it.
	 */
	readonly kind?: "reference" | "keys" | "words" | "directory" | "session";
	/** Where this other field is given, it is a path of another system, and taken as it is. */
	readonly unless?: string;
	/** A word for leaving it out. */
	readonly any?: string;
	/** The field of an object that a bare string stands for. */
	readonly shorthand?: string;
	/** The option that says what it is where a call leaves it out. */
	readonly option?: NumberOption;
	/** What a right value looks like, as JSON. */
	readonly example?: string;
}

export const fieldKinds = z.registry<FieldKind>();

export const kindOf = (schema: z.core.$ZodType): FieldKind => fieldKinds.get(schema) ?? {};

/** The schema inside optional, default and the like. */
export function bare(schema: z.core.$ZodType): z.core.$ZodTypes {
	const { def } = (schema as z.core.$ZodTypes)._zod;
	switch (def.type) {
		case "optional":
		case "default":
		case "nullable":
			return bare(def.innerType);
		case "pipe":
			return bare(def.in);
		default:
			return schema as z.core.$ZodTypes;
	}
}
