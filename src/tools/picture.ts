// The screen as PNG: the SVG of terminal/picture-svg.ts, drawn by resvg (WASM).
//
// Drawing takes up to seconds and a hundred times the memory of its answer, so it happens in a thread of its own, one
// picture at a time, which ends with the picture. resvg is an optional dependency and brings no fonts: if either is
// missing the call is refused, and the SVG can still be exported.

import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { Fault } from "../protocol/fault.ts";
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

// A string, because the thread runs no TypeScript: `src` and `dist` start the same program.
const PROGRAM = `
const { readFileSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const { Resvg, initWasm } = require(workerData.resvg);
initWasm(readFileSync(workerData.wasm)).then(() => {
	const family = "DejaVu Sans Mono";
	const font = {
		fontBuffers: workerData.fonts.map((path) => readFileSync(path)),
		defaultFontFamily: family,
		monospaceFamily: family,
	};
	const drawing = new Resvg(workerData.svg, { fitTo: { mode: "zoom", value: workerData.scale }, font });
	parentPort.postMessage(drawing.render().asPng());
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
	const parts = { ...(await programs()), svg, scale };
	const worker = new Worker(PROGRAM, { eval: true, workerData: parts, env: {}, execArgv: [] });
	let timer: NodeJS.Timeout | undefined;
	try {
		return await new Promise<Uint8Array>((resolve, reject) => {
			worker.once("message", resolve);
			worker.once("error", reject);
			worker.once("exit", () => reject(new Error("the drawing thread ended without a picture")));
			timer = setTimeout(() => reject(refusal(`A picture (it took longer than ${DEADLINE_MS} ms)`)), DEADLINE_MS);
		});
	} finally {
		clearTimeout(timer);
		await worker.terminate();
	}
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
