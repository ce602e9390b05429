// The options as people read them: the variable, its default and bounds in plain units, the meaning. Help prints it, and
// docs/options.md is held to it (option-table.test.ts).

import { environmentName, options, optionVariables, textOptions } from "./options.ts";

export interface OptionLine {
	readonly variable: string;
	readonly default: string;
	readonly bounds: string;
	readonly meaning: string;
}

const UNITS = {
	ms: [
		["h", 3_600_000],
		["min", 60_000],
		["s", 1000],
		["ms", 1],
	],
	bytes: [
		["GiB", 2 ** 30],
		["MiB", 2 ** 20],
		["KiB", 1024],
		["bytes", 1],
	],
} as const;

/** In the largest unit that has it as a whole number; counts have none. */
function plain(value: number, unit: string): string {
	if (value === Number.MAX_SAFE_INTEGER) return "any";
	if (value === 0 || (unit !== "ms" && unit !== "bytes")) return value.toLocaleString("en-US");
	const [name, size] = UNITS[unit].find(([, size]) => value % size === 0)!;
	return `${(value / size).toLocaleString("en-US")} ${name}`;
}

export const optionTable = (): OptionLine[] => [
	...Object.entries(options).map(([name, { default: value, min, max, unit, meaning }]) => ({
		variable: environmentName(name),
		default: plain(value, unit),
		bounds: `${plain(min, unit)} to ${plain(max, unit)}`,
		meaning,
	})),
	...Object.entries(textOptions).map(([name, { default: value, meaning }]) => ({
		variable: environmentName(name),
		default: value || "–",
		bounds: "words",
		meaning,
	})),
];

/** Variables that set no option: docs/options.md explains each. */
const OTHERS = ["HOME", "OWNER", "PARENT", "PORT", "LOG_LEVEL", "FONTS", "DEBUG", "TOKEN", "SECRETS_ON"];
const known = new Set([...optionVariables(), ...OTHERS.map((name) => `DIALTONE_${name}`)]);

/** Whether anything reads it: a variable that is misspelt has no effect, and nobody says so. */
export const isKnownVariable = (name: string): boolean => known.has(name);
