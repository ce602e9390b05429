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

function luminance(rgb: Rgb): number {
	const [r, g, b] = rgb.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [
		number,
		number,
		number,
	];
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** From 1 (the same) to 21 (black on white). */
export function contrast(one: string, other: string): number {
	const [dark, light] = [one, other].map((color) => luminance(parse(color))).sort((a, b) => a - b) as [number, number];
	return (light + 0.05) / (dark + 0.05);
}

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

/**
 * The colour for text on a background: its own, if its contrast is at least `least`; else the nearest with that of `goal`.
 * Text in exactly the colour of its background is hidden on purpose, and stays so.
 */
export function readable(
	text: string,
	background: string,
	{ least = LEAST_CONTRAST, goal = GOOD_CONTRAST }: { least?: number; goal?: number } = {},
): string {
	if (text === background || contrast(text, background) >= least) return text;
	const rgb = parse(text);
	const isLighter = luminance(rgb) >= luminance(parse(background));
	for (const move of isLighter ? [lighter, darker] : [darker, lighter])
		for (let step = 1; step <= STEPS; step++) {
			// As it will be written: rounding to whole values may cost the last hundredth.
			const moved = format(move(rgb, step));
			if (contrast(moved, background) >= goal) return moved;
		}
	return text; // not reached: black or white has 4.58 on any colour
}
