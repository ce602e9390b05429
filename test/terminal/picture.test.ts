import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { Fault } from "../../src/protocol/fault.ts";
import { THEME } from "../../src/terminal/colors.ts";
import { contrast } from "../../src/terminal/contrast.ts";
import { pictureSvg } from "../../src/terminal/picture-svg.ts";
import { Screen } from "../../src/terminal/screen.ts";
import { fontsFor } from "../../src/tools/fonts.ts";
import { pictureToPng } from "../../src/tools/picture.ts";
import { recordings } from "./replay.ts";

test("a screen becomes a PNG without a browser, or the reason is told", async () => {
	const screen = new Screen({ cols: 80, rows: 24 });
	screen.feed(readFileSync(join(import.meta.dirname, "golden/htop.bytes")));
	const svg = pictureSvg(screen);
	const drawn = await pictureToPng(svg).catch((fault: unknown) => fault);
	if (drawn instanceof Fault) return expect(drawn.code).toBe("not_supported");
	const bytes = Buffer.from((drawn as { png: Uint8Array }).png);
	expect(bytes.subarray(1, 4).toString()).toBe("PNG");
	expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([744, 456]);
});

/** Each text with the colour of the cell that it begins in. */
function textsOn(svg: string): { text: string; color: string; background: string }[] {
	const rects = [...svg.matchAll(/<rect x="(\d+)" y="(\d+)" width="(\d+)" height="\d+" fill="(#\w+)"/g)].map(
		([, x, y, width, fill]) => ({ x: Number(x), y: Number(y), width: Number(width), fill: fill! }),
	);
	const texts = svg.matchAll(
		/<text x="([\d.]+)" y="(\d+)" (?:textLength|text-anchor)="\w+" fill="(#\w+)"[^>]*>([^<]*)/g,
	);
	return [...texts].map(([, x, y, color, text]) => {
		const under = rects.find(
			(rect) => rect.y === Number(y) - 14 && rect.x <= Number(x) && Number(x) < rect.x + rect.width,
		);
		return { text: text!, color: color!, background: under?.fill ?? THEME.background };
	});
}

// Seen by a person in these recordings: white, yellow and black on blue, cyan, white and red; and mc's dialogs.
test.each(recordings)("T14 every word of $name can be read, at every look", ({ bytes, cols, rows, reads }) => {
	const screen = new Screen({ cols, rows });
	let at = 0;
	let words = 0;
	for (const { offset } of reads) {
		screen.feed(bytes.subarray(at, offset));
		at = offset;
		for (const { text, color, background } of textsOn(pictureSvg(screen, { title: "" }))) {
			words++;
			if (color !== background)
				expect(contrast(color, background), `${text}: ${color} on ${background}`).toBeGreaterThanOrEqual(3);
		}
	}
	expect(words).toBeGreaterThan(0);
	screen.dispose();
});

describe("T14 fonts", () => {
	const empty = mkdtempSync(join(tmpdir(), "no-fonts-"));
	afterAll(() => rmSync(empty, { recursive: true }));
	const DEJAVU = "/usr/share/fonts/truetype/dejavu";
	const hasDejaVu = existsSync(join(DEJAVU, "DejaVuSansMono.ttf"));

	test("without any font a PNG is refused, with the package to install", async () => {
		const fault = await pictureToPng("<svg/>", { fontDirectories: [empty] }).catch((error: unknown) => error);
		expect(fault).toMatchObject({ code: "not_supported" });
		expect((fault as Fault).message).toContain("fonts-dejavu-core");
	});

	test.runIf(hasDejaVu)(
		"what the main font has needs no other; the rest is found by what fonts really cover",
		async () => {
			const latin = await fontsFor("naïve Ελλάδα Москва ✓ →", [empty, DEJAVU]);
			expect(latin.missing).toEqual([]);
			expect(latin.files.map((path) => path.split("/").at(-1))).toEqual([
				"DejaVuSansMono.ttf",
				"DejaVuSansMono-Bold.ttf",
			]);
			const hebrew = await fontsFor("שלום", [DEJAVU]);
			expect(hebrew.missing).toEqual([]);
			expect(hebrew.files.at(-1)).toMatch(/DejaVuSans\.ttf$/);
			expect((await fontsFor("漢 🦀\u200d\ufe0f a\n", [DEJAVU])).missing).toEqual(["漢", "🦀"]);
		},
	);

	test.runIf(hasDejaVu)(
		"an answer names what is shown as boxes and the package that has it, and nothing else",
		async () => {
			process.env.DIALTONE_FONTS = DEJAVU;
			onTestFinished(() => {
				delete process.env.DIALTONE_FONTS;
			});
			await using dialtone = await Dialtone.open();
			await dialtone.client.call("start", { argv: ["printf", "漢字 🦀 ⣿ ┌─┐ \ue0b0"], name: "rich" });
			const rich = await dialtone.client.call("read", { session: "rich", view: "picture" });
			expect(rich.facts.notices).toEqual([
				"shown as boxes because no font here has them: 3 different characters; install a font for Chinese, Japanese and Korean (Debian: fonts-noto-cjk), emoji (Debian: fonts-symbola)",
			]);
			expect(rich.text).toContain("fonts-noto-cjk");
			await dialtone.client.call("start", { argv: ["printf", "plain ⣿ ┌─┐ \ue0b0"], name: "plain" });
			const plain = await dialtone.client.call("read", { session: "plain", view: "picture" });
			expect(plain.facts.notices).toBeUndefined();
		},
	);
});
