// Colour for people: on a terminal, unless NO_COLOR is set; FORCE_COLOR asks for it anywhere.

import type { Io } from "./command.ts";

const SGR = { dim: 2, bold: 1, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Colour = keyof typeof SGR;

export function coloured({ env, stdout }: Io): (colour: Colour, text: string) => string {
	const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
	const on = env.NO_COLOR ? false : forced || (stdout.isTTY === true && env.TERM !== "dumb" && env.FORCE_COLOR !== "0");
	return (colour, text) => (on ? `\x1b[${SGR[colour]}m${text}\x1b[0m` : text);
}
