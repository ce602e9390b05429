import { expect, test } from "vitest";
import { pictureSvg } from "./picture-svg.ts";
import { Screen } from "./screen.ts";

function picture(output: string, options = {}) {
	const screen = new Screen({ cols: 20, rows: 4 });
	screen.feed(new TextEncoder().encode(output));
	return pictureSvg(screen, options);
}

test("text, colours and attributes are in the picture, each run as wide as its cells", () => {
	const svg = picture("\x1b[1;31mred\x1b[0m \x1b[7mchosen\x1b[0m\r\n\x1b[48;2;1;2;3m漢\x1b[0m");
	expect(svg).toMatch(/textLength="27" fill="#ef8891" font-weight="bold">red<\/text>/);
	expect(svg).toMatch(/<rect x="48" y="12" width="54" height="18" fill="#d8dee9"\/>/);
	expect(svg).toMatch(/<rect x="12" y="30" width="18" height="18" fill="#010203"\/>/);
	expect(svg).toContain("chosen");
});

test("what a program prints cannot become markup", () => {
	const svg = picture('</text><script>x</script>&"', { title: "<b>" });
	expect(svg).not.toMatch(/<script|<b>/);
	expect(svg).toContain("&lt;");
});

test("the theme decides the colours", () => {
	const light = { foreground: "#111111", background: "#ffffff", cursor: "#ff0000" };
	expect(picture("hi", { theme: light })).toContain('fill="#ffffff"');
});
