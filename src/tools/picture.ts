// The screen as PNG: the SVG of terminal/picture-svg.ts, drawn by resvg (WASM).
//
// Drawing takes up to seconds and a hundred times the memory of its answer, so it happens in a process of its own, one
// picture at a time, which ends with the picture. resvg is an optional dependency and brings no fonts (fonts.ts): if it or
// every monospaced font is missing the call is refused, and the SVG can still be exported.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Fault } from "../protocol/fault.ts";
import { type Condition, wait } from "../pty/wait.ts";
import { KeyedQueue } from "../session/keyed-queue.ts";
import { fontsFor } from "./fonts.ts";

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

export interface Picture {
	readonly png: Uint8Array;
	/** Characters that no font has: they are boxes in the picture. */
	readonly missing: readonly string[];
}

export interface DrawOptions {
	/** 2 suits dense displays. */
	readonly scale?: number;
	/** Where fonts are searched, if not where the system keeps them. */
	readonly fontDirectories?: readonly string[];
}

/** Draws an SVG of ours. */
export async function pictureToPng(svg: string, options: DrawOptions = {}): Promise<Picture> {
	if (waiting >= MAX_WAITING) throw new Fault("too_many_calls", { what: "pictures", limit: MAX_WAITING });
	waiting++;
	return turns.run("picture", () => draw(svg, options)).finally(() => waiting--);
}

/** What is written in an SVG of ours, as far as fonts are concerned: entities and style are ASCII. */
export const textOf = (svg: string): string => svg.replace(/<[^>]*>/g, "");

async function draw(svg: string, { scale = 1, fontDirectories }: DrawOptions): Promise<Picture> {
	const { resvg, wasm } = programs();
	const { files, missing } = await fontsFor(textOf(svg), fontDirectories);
	if (files.length === 0) throw refusal("A PNG picture (no monospaced font was found; Debian: fonts-dejavu-core)");
	return { png: await drawWith([resvg, wasm, String(scale), ...files], svg), missing };
}

async function drawWith(words: readonly string[], svg: string): Promise<Uint8Array> {
	const child = spawn(process.execPath, ["-e", PROGRAM, ...words], {
		stdio: ["pipe", "pipe", "ignore"],
		env: {},
		cwd: "/",
	});
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

function programs(): { resvg: string; wasm: string } {
	try {
		const { resolve } = createRequire(import.meta.url);
		return { resvg: resolve("@resvg/resvg-wasm"), wasm: resolve("@resvg/resvg-wasm/index_bg.wasm") };
	} catch (cause) {
		throw refusal("A PNG picture (@resvg/resvg-wasm is not installed)", cause);
	}
}

const refusal = (what: string, cause?: unknown) =>
	new Fault("not_supported", { what, instead: "Ask for the SVG, or read the screen as text." }, { cause });
