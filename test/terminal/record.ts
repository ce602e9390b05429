// Records real programs for the golden tests: `npx tsx test/terminal/record.ts [NAME …]`.
//
// Each scene runs a program on a PTY of its own, presses keys when the screen shows what
// it waits for, and keeps the raw bytes with the offsets at which an agent would have
// looked. The tests replay the bytes, so they need none of the programs.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeKey, encodeText } from "../../src/terminal/keys.ts";
import { Screen } from "../../src/terminal/screen.ts";
import { startBridged } from "./bridge.ts";
import { type Scene, scenes } from "./scenes.ts";

const golden = join(import.meta.dirname, "golden");
/** A read is recorded when the wanted text is there and the program has been quiet for this long. */
const QUIET_MS = 400;
const LIMIT_MS = 20_000;

async function record(name: string, scene: Scene): Promise<void> {
	const { cols = 80, rows = 24, argv, steps, setup } = scene;
	const dir = mkdtempSync(join(tmpdir(), "golden-"));
	setup?.(dir);
	const child = startBridged(argv, { cols, rows, cwd: dir, env: { HOME: dir, ...scene.env } });
	const screen = new Screen({ cols, rows });
	const chunks: Buffer[] = [];
	let last = Date.now();
	let ended = false;
	screen.onReply((bytes) => child.stdin.write(bytes));
	child.stdin.on("error", () => {}); // The program may end while an answer is under way.
	child.stdout.on("data", (bytes: Buffer) => {
		chunks.push(bytes);
		screen.feed(bytes);
		last = Date.now();
	});
	const closed = new Promise<void>((resolve) => child.stdout.on("end", () => resolve()));
	void closed.then(() => {
		ended = true;
	});
	const reads: { offset: number; after: string }[] = [];
	for (const { keys = [], type = "", until } of steps) {
		const before = screen.offset;
		if (type) child.stdin.write(encodeText(type, screen.modes));
		for (const key of keys) child.stdin.write(encodeKey(key, screen.modes));
		const limit = Date.now() + LIMIT_MS;
		const answered = () => screen.offset > before;
		const there = () => answered() && (until === "end" || until.test(screen.snapshot().text));
		while (!(there() && (ended || (until !== "end" && Date.now() - last > QUIET_MS)))) {
			if (Date.now() > limit || ended) {
				child.stdin.end();
				throw new Error(`${name}: ${until} was never seen:\n${screen.snapshot().text}`);
			}
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		reads.push({
			offset: screen.offset,
			after: [type && JSON.stringify(type), ...keys].filter(Boolean).join(" ") || "start",
		});
	}
	child.stdin.end();
	child.kill();
	await closed;
	mkdirSync(golden, { recursive: true });
	writeFileSync(join(golden, `${name}.bytes`), Buffer.concat(chunks).subarray(0, reads.at(-1)!.offset));
	writeFileSync(join(golden, `${name}.json`), `${JSON.stringify({ argv, cols, rows, reads }, null, "\t")}\n`);
	rmSync(dir, { recursive: true });
	console.log(`${name}: ${reads.at(-1)!.offset} bytes, ${reads.length} reads`);
}

const wanted = process.argv.slice(2);
for (const [name, scene] of Object.entries(scenes))
	if (wanted.length === 0 || wanted.includes(name)) await record(name, scene);
