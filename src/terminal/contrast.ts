// Text that can be read against its own background, whatever pair of colours a program chose for some other terminal.
//
// Contrast is that of WCAG 2: the ratio of relative luminances, from 1 to 21. Only text is moved, never a background, and
// only as far as needed: it keeps its hue, and stays lighter or darker than its background where that is possible.

type Rgb = readonly [number, number, number];

/** Below this, text in colours of the palette is moved … */
export const LEAST_CONTRAST = 3;
/** … to this, which WCAG asks of text (AA). */
export const GOOD_CONTRAST = 4.5;

const parse = (color: string): Rgb =>
	[1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255) as unknown as Rgb;
const format = (rgb: Rgb) =>
	`#${rgb
		.map((part) =>
			Math.round(part * 255)
				.toString(16)
				.padStart(2, "0"),
		)
		.join("")}`;
const mixed = (one: Rgb, other: Rgb, share: number) =>
	one.map((part, i) => part + (other[i]! - part) * share) as unknown as Rgb;

/** What a value of 0 to 255 contributes, before it is weighed: a picture asks for a hundred thousand. */
const LINEAR = Float64Array.from({ length: 256 }, (_, value) => {
	const part = value / 255;
	return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
});

const weighed = (r: number, g: number, b: number) => 0.2126 * LINEAR[r]! + 0.7152 * LINEAR[g]! + 0.0722 * LINEAR[b]!;

function luminance(color: string): number {
	const value = Number.parseInt(color.slice(1), 16);
	return weighed(value >> 16, (value >> 8) & 255, value & 255);
}

const ratio = (one: number, other: number) =>
	one > other ? (one + 0.05) / (other + 0.05) : (other + 0.05) / (one + 0.05);

/** From 1 (the same) to 21 (black on white). */
export const contrast = (one: string, other: string): number => ratio(luminance(one), luminance(other));

/** A share of the way from one colour to another. */
export const blend = (one: string, other: string, share: number): string =>
	format(mixed(parse(one), parse(other), share));

const BLACK: Rgb = [0, 0, 0];
const WHITE: Rgb = [1, 1, 1];
const STEPS = 32;

/** Brighter with the same hue and saturation for as long as that goes, then paler. */
function lighter(rgb: Rgb, step: number): Rgb {
	const brightest = Math.max(...rgb);
	if (brightest === 0) return mixed(rgb, WHITE, step / STEPS);
	const full = rgb.map((part) => part / brightest) as unknown as Rgb;
	const half = STEPS / 2;
	return step <= half ? mixed(rgb, full, step / half) : mixed(full, WHITE, (step - half) / half);
}

const darker = (rgb: Rgb, step: number): Rgb => mixed(rgb, BLACK, step / STEPS);

/** Programs use few pairs of colours, and pictures of one screen follow each other. */
const known = new Map<string, string>();
const MAX_KNOWN = 65_536;

/**
 * The colour for text on a background: its own, if its contrast is at least `least`; else the nearest with that of `goal`.
 * Text in exactly the colour of its background is hidden on purpose, and stays so.
 */
export function readable(
	text: string,
	background: string,
	{ least = LEAST_CONTRAST, goal = GOOD_CONTRAST }: { least?: number; goal?: number } = {},
): string {
	if (text === background) return text;
	const pair = `${text}${background}${least}${goal}`;
	const before = known.get(pair);
	if (before !== undefined) return before;
	const moved = contrast(text, background) >= least ? text : movedTo(goal, text, background);
	if (known.size >= MAX_KNOWN) known.clear();
	known.set(pair, moved);
	return moved;
}

/** The nearest colour to that of a text that has this contrast with its background. */
function movedTo(goal: number, text: string, background: string): string {
	const rgb = parse(text);
	const behind = luminance(background);
	const isLighter = luminance(text) >= behind;
	for (const move of isLighter ? [lighter, darker] : [darker, lighter]) {
		// As it will be written: rounding to whole values may cost the last hundredth.
		const suffices = (step: number) => {
			const [r, g, b] = move(rgb, step);
			return ratio(weighed(Math.round(r * 255), Math.round(g * 255), Math.round(b * 255)), behind) >= goal;
		};
		if (!suffices(STEPS)) continue;
		let [below, enough] = [0, STEPS];
		while (enough - below > 1) {
			const step = (below + enough) >> 1;
			if (suffices(step)) enough = step;
			else below = step;
		}
		return format(move(rgb, enough));
	}
	return text; // not reached: black or white has 4.58 on any colour
}
