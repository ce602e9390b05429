// A short run of the live fuzz, with the holder as it is shipped; `npm run check:holder` runs it longer, under AddressSanitizer.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SEED = "20261117";
const SECONDS = "5";

test("H13 a holder answers, ends and tidies up after random clients: requests, clients and log as a whole", async () => {
	const live = join(import.meta.dirname, "../../holder/fuzz/fuzz-live.ts");
	const run = promisify(execFile)(process.execPath, ["--import", "tsx", live, SECONDS, SEED]);
	const [, frames = "0"] = /live fuzz: (\d+) frames/.exec((await run).stderr) ?? [];
	expect(Number(frames)).toBeGreaterThan(500);
});
