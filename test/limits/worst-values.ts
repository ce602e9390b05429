// The worst values of each field of a tool, from its own schema: a new field is measured from its first day.

import type { z } from "zod";

/** More than any field of text may take. */
export const UNBOUNDED_CHARS = 5_000_000;

const HOSTILE_PATTERNS = ["[^]{0,60}x", "(a+)+$", "(.*)*\\d", "^(\\w+\\s?)*$", "(?:.|\\n)*z", ".*.*.*.*=.*"];

type Def = {
	readonly type: string;
	readonly innerType?: z.ZodType;
	readonly element?: z.ZodType;
	readonly valueType?: z.ZodType;
	readonly options?: readonly z.ZodType[];
	readonly shape?: Record<string, z.ZodType>;
	readonly entries?: Record<string, unknown>;
};
const defOf = (schema: z.ZodType) => schema._zod.def as unknown as Def;

type CheckDef = {
	readonly check: string;
	readonly value?: number;
	readonly maximum?: number;
	readonly minimum?: number;
};

/** The bounds that a schema declares, by what they bound. */
function boundsOf(schema: z.ZodType): { least?: number; most?: number } {
	const bounds: { least?: number; most?: number } = {};
	for (const { _zod } of schema._zod.def.checks ?? []) {
		const { check, value = 0, maximum = 0, minimum = 0 } = _zod.def as unknown as CheckDef;
		if (check === "less_than") bounds.most = value;
		if (check === "greater_than") bounds.least = value;
		if (check === "max_length") bounds.most = maximum;
		if (check === "min_length") bounds.least = minimum;
	}
	return bounds;
}

/** Values for one field. `path` names it, for what only a field of this name makes hostile. */
export function worstOf(schema: z.ZodType, path: string): readonly unknown[] {
	const def = defOf(schema);
	switch (def.type) {
		case "optional":
		case "default":
		case "nullable":
		case "pipe":
			return def.innerType === undefined ? [] : worstOf(def.innerType, path);
		case "string": {
			const length = boundsOf(schema).most ?? UNBOUNDED_CHARS;
			const fill = (unit: string) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
			const patterns = path.endsWith("pattern") ? HOSTILE_PATTERNS : [];
			return [fill("a"), fill("\x1b[31m\u{1f600}e\u0301\u200d\n"), ...patterns];
		}
		case "number":
		case "int": {
			const { least = -1e9, most = 1e9 } = boundsOf(schema);
			return [least, most];
		}
		case "boolean":
			return [true, false];
		case "enum":
			return Object.values(def.entries ?? {});
		case "array": {
			const { most = 1_000_000 } = boundsOf(schema);
			return worstOf(def.element!, path).flatMap((value) =>
				typeof value === "string" && value.length * most > 8e6
					? [Array.from({ length: most }, () => value.slice(0, 4)), Array.from({ length: 8 }, () => value)]
					: [Array.from({ length: most }, () => value)],
			);
		}
		case "record": {
			const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`A${i}`, "x"]));
			return [many, { A: "x".repeat(UNBOUNDED_CHARS) }, { ["A".repeat(UNBOUNDED_CHARS)]: "x" }];
		}
		case "union":
			return def.options!.flatMap((option) => worstOf(option, path));
		case "object":
			return Object.entries(def.shape!).flatMap(([name, inner]) =>
				worstOf(inner, `${path}.${name}`).map((value) => ({ [name]: value })),
			);
		default:
			return [];
	}
}
