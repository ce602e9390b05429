// The screen as PNG: the SVG of terminal/picture-svg.ts, drawn by resvg (WASM).
//
// resvg is an optional dependency and brings no fonts: if either is missing the
// call is refused, and the SVG can still be exported.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Fault } from "../protocol/fault.ts";

/** Monospaced fonts with box drawing, where systems keep them. */
const FONTS = [
	"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
	"/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf",
	"/usr/share/fonts/TTF/DejaVuSansMono.ttf",
	"/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf",
	"/usr/share/fonts/truetype/noto/NotoSansMono-Regular.ttf",
	"/System/Library/Fonts/Menlo.ttc",
];

type Resvg = typeof import("@resvg/resvg-wasm");
let loading: Promise<{ resvg: Resvg; fonts: Uint8Array[] }> | undefined;

async function load(): Promise<{ resvg: Resvg; fonts: Uint8Array[] }> {
	const refuse = (what: string, cause?: unknown) =>
		new Fault("not_supported", { what, instead: "Ask for the SVG, or read the screen as text." }, { cause });
	const found = await Promise.all(FONTS.map((path) => readFile(path).catch(() => null))); // Most systems lack most of them.
	const fonts = found.filter((font) => font !== null);
	if (fonts.length === 0) throw refuse("A PNG picture (no monospaced font was found)");
	try {
		const resvg = await import("@resvg/resvg-wasm");
		await resvg.initWasm(await readFile(createRequire(import.meta.url).resolve("@resvg/resvg-wasm/index_bg.wasm")));
		return { resvg, fonts };
	} catch (cause) {
		throw refuse("A PNG picture (@resvg/resvg-wasm is not installed)", cause);
	}
}

/** Draws an SVG of ours; `scale` 2 suits dense displays. */
export async function pictureToPng(svg: string, { scale = 1 }: { scale?: number } = {}): Promise<Uint8Array> {
	loading ??= load();
	const { resvg, fonts } = await loading;
	const drawing = new resvg.Resvg(svg, {
		fitTo: { mode: "zoom", value: scale },
		font: { fontBuffers: fonts, defaultFontFamily: "DejaVu Sans Mono", monospaceFamily: "DejaVu Sans Mono" },
	});
	try {
		return drawing.render().asPng();
	} finally {
		drawing.free();
	}
}
