// The screen as PNG: the SVG of terminal/picture-svg.ts, drawn by resvg (WASM).
//
// Drawing takes up to seconds and a hundred times the memory of its answer, so it happens in a process of its own, one
// picture at a time, which ends with the picture. resvg is an optional dependency and brings no fonts: if either is
// missing the call is refused, and the SVG can still be exported.

import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { createRequire } from "node:module";
import { Fault } from "../protocol/fault.ts";
import { type Condition, wait } from "../pty/wait.ts";
import { KeyedQueue } from "../session/keyed-queue.ts";

/** Monospaced fonts with box drawing, where systems keep them: the first of each weight is used. */
const FONTS = [
	[
		"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
		"/usr/share/fonts/TTF/DejaVuSansMono.ttf",
		"/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf",
		"/usr/share/fonts/truetype/noto/NotoSansMono-Regular.ttf",
		"/System/Library/Fonts/Menlo.ttc",
	],
	["/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf"],
];

/** A large one takes half a second; on a busy machine several times that. */
const DEADLINE_MS = 10_000;
/** Pictures that may wait for their turn. */
const MAX_WAITING = 8;

// A string, because Node runs no TypeScript by itself: `src` and `dist` start the same program.
const PROGRAM = `
const { readFileSync, writeFileSync } = require("node:fs");
const [, resvg, wasm, scale, ...fonts] = process.argv;
const { Resvg, initWasm } = require(resvg);
initWasm(readFileSync(wasm)).then(() => {
	const family = "DejaVu Sans Mono";
	const fontBuffers = fonts.map((path) => readFileSync(path));
	const drawing = new Resvg(readFileSync(0, "utf8"), {
		fitTo: { mode: "zoom", value: Number(scale) },
		font: { fontBuffers, defaultFontFamily: family, monospaceFamily: family },
	});
	writeFileSync(1, drawing.render().asPng());
});
`;

const turns = new KeyedQueue();
let waiting = 0;

/** Draws an SVG of ours; `scale` 2 suits dense displays. */
export async function pictureToPng(svg: string, { scale = 1 }: { scale?: number } = {}): Promise<Uint8Array> {
	if (waiting >= MAX_WAITING) throw new Fault("too_many_calls", { what: "pictures", limit: MAX_WAITING });
	waiting++;
	return turns.run("picture", () => draw(svg, scale)).finally(() => waiting--);
}

async function draw(svg: string, scale: number): Promise<Uint8Array> {
	const { resvg, wasm, fonts } = await programs();
	const words = ["-e", PROGRAM, resvg, wasm, String(scale), ...fonts];
	const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "ignore"], env: {}, cwd: "/" });
	const drawn: Condition<Uint8Array> = {
		start({ settle, fail, after }) {
			const chunks: Buffer[] = [];
			child.on("error", fail);
			child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
			child.stdin.on("error", () => {}); // it ended without reading; `close` follows
			child.on("close", (code) => {
				if (code === 0) settle(Buffer.concat(chunks));
				else fail(new Error(`drawing a picture failed with exit code ${code}`));
			});
			after(DEADLINE_MS, () => {
				child.kill("SIGKILL");
				fail(refusal(`A picture (it took longer than ${DEADLINE_MS} ms)`));
			});
			child.stdin.end(svg);
		},
	};
	return wait([drawn]);
}

async function programs(): Promise<{ resvg: string; wasm: string; fonts: readonly string[] }> {
	const fonts = (await Promise.all(FONTS.map(firstReadable))).filter((path) => path !== null);
	if (fonts.length === 0) throw refusal("A PNG picture (no monospaced font was found)");
	try {
		const { resolve } = createRequire(import.meta.url);
		return { resvg: resolve("@resvg/resvg-wasm"), wasm: resolve("@resvg/resvg-wasm/index_bg.wasm"), fonts };
	} catch (cause) {
		throw refusal("A PNG picture (@resvg/resvg-wasm is not installed)", cause);
	}
}

async function firstReadable(paths: readonly string[]): Promise<string | null> {
	for (const path of paths) {
		const isReadable = await access(path, constants.R_OK).then(
			() => true,
			() => false,
		);
		if (isReadable) return path;
	}
	return null;
}

const refusal = (what: string, cause?: unknown) =>
	new Fault("not_supported", { what, instead: "Ask for the SVG, or read the screen as text." }, { cause });
