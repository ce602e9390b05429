import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Fault } from "../../src/protocol/fault.ts";
import { pictureSvg } from "../../src/terminal/picture-svg.ts";
import { Screen } from "../../src/terminal/screen.ts";
import { pictureToPng } from "../../src/tools/picture.ts";

test("a screen becomes a PNG without a browser, or the reason is told", async () => {
	const screen = new Screen({ cols: 80, rows: 24 });
	screen.feed(readFileSync(join(import.meta.dirname, "golden/htop.bytes")));
	const svg = pictureSvg(screen);
	const png = await pictureToPng(svg).catch((fault: unknown) => fault);
	if (png instanceof Fault) return expect(png.code).toBe("not_supported");
	const bytes = Buffer.from(png as Uint8Array);
	expect(bytes.subarray(1, 4).toString()).toBe("PNG");
	expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([744, 456]);
});
