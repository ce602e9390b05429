import { expect, test } from "vitest";
import { PALETTE, THEME } from "./colors.ts";
import { contrast } from "./contrast.ts";
import { pictureSvg } from "./picture-svg.ts";
import { Screen } from "./screen.ts";

function picture(output: string, options = {}) {
	const screen = new Screen({ cols: 20, rows: 4 });
	screen.feed(new TextEncoder().encode(output));
	return pictureSvg(screen, options);
}

test("text, colours and attributes are in the picture, each run as wide as its cells", () => {
	const svg = picture("\x1b[1;31mred\x1b[0m \x1b[7mchosen\x1b[0m\r\n\x1b[48;2;1;2;3m漢\x1b[0m");
	expect(svg).toContain(`textLength="27" fill="${PALETTE[9]}" font-weight="bold">red</text>`);
	expect(svg).toContain(`<rect x="48" y="12" width="54" height="18" fill="${THEME.foreground}"/>`);
	expect(svg).toContain('<rect x="12" y="30" width="18" height="18" fill="#010203"/>');
	expect(svg).toContain("chosen");
});

test("what a program prints cannot become markup", () => {
	const svg = picture('</text><script>x</script>&"', { title: "<b>" });
	expect(svg).not.toMatch(/<script|<b>/);
	expect(svg).toContain("&lt;");
});

test("the theme decides the colours", () => {
	const light = { foreground: "#111111", background: "#ffffff" };
	expect(picture("hi", { theme: light })).toContain('fill="#ffffff"');
});

test("T14 text without contrast is moved, drawings and backgrounds are not", () => {
	const [blue, magenta] = [PALETTE[4]!, PALETTE[5]!];
	const svg = picture("\x1b[35;44mtext ██\x1b[0m");
	const fill = /fill="(#\w+)">text</.exec(svg)![1]!;
	expect(contrast(magenta, blue)).toBeLessThan(3);
	expect(contrast(fill, blue)).toBeGreaterThanOrEqual(4.5);
	expect(svg).toContain(`fill="${blue}"`);
	expect(svg).toMatch(new RegExp(`<path [^>]*fill="${magenta}"`));
});

test("an exact colour is moved less than one of the palette, and hidden text stays hidden", () => {
	const fillOf = (text: string, svg: string) => new RegExp(`fill="(#\\w+)">${text}<`).exec(svg)![1]!;
	const dark = picture("\x1b[38;2;20;20;40mdark\x1b[0m \x1b[2mdim\x1b[0m\r\n\x1b[34;44mhidden\x1b[0m");
	const ratio = contrast(fillOf("dark", dark), THEME.background);
	expect(ratio).toBeGreaterThanOrEqual(3);
	expect(ratio).toBeLessThan(4);
	expect(contrast(fillOf("dim", dark), THEME.background)).toBeGreaterThanOrEqual(3);
	expect(fillOf("hidden", dark)).toBe(PALETTE[4]);
});

test("T14 what fonts draw differently has its own cells: wide characters, right-to-left letters, symbols", () => {
	const svg = picture("a漢b\r\nאב→c\r\ne\u0301🦀");
	const texts = [...svg.matchAll(/<text x="([\d.]+)"[^>]*>([^<]*)</g)].map(([, x, text]) => [Number(x), text]);
	expect(texts).toEqual([
		[12, "a"],
		[30, "漢"],
		[39, "b"],
		[16.5, "א"],
		[25.5, "ב"],
		[34.5, "→"],
		[39, "c"],
		[16.5, "e\u0301"],
		[30, "🦀"],
	]);
});

test("the cursor reverses its cell, so that it shows on any background", () => {
	const svg = picture("\x1b[30;47mabc\x1b[2D");
	expect(svg).toContain(`<rect x="21" y="12" width="9" height="18" fill="${PALETTE[0]}"/>`);
	expect(svg).toMatch(new RegExp(`fill="${PALETTE[7]}">b<`));
	expect(picture("\x1b[30;47mabc\x1b[2D\x1b[?25l")).toContain(">abc<");
});
