// Programs that ask the terminal questions when they start: they must get their answers,
// or fish and others sit there for seconds before their first prompt.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { encodeKey } from "../../src/terminal/keys.ts";
import { Screen } from "../../src/terminal/screen.ts";
import { needing } from "../programs.ts";
import { startBridged } from "./bridge.ts";

const PROGRAMS: readonly { argv: readonly string[]; ready: RegExp; quit: readonly string[] }[] = [
	{
		argv: ["fish", "--no-config", "-C", "function fish_prompt; echo -n 'fish> '; end"],
		ready: /fish> $/,
		quit: ["ctrl+d"],
	},
	{ argv: ["vim", "-u", "NONE", "notes.txt"], ready: /first line/, quit: [":", "q", "!", "enter"] },
	{ argv: ["nvim", "-u", "NONE", "notes.txt"], ready: /first line/, quit: [":", "q", "!", "enter"] },
	{ argv: ["less", "notes.txt"], ready: /first line/, quit: ["q"] },
	{ argv: ["htop"], ready: /F10/, quit: ["q"] },
	{ argv: ["sh", "-c", "seq 1 9 | fzf"], ready: /9\/9/, quit: ["esc"] },
	{ argv: ["dialog", "--msgbox", "well met", "7", "30"], ready: /well met/, quit: ["enter"] },
];

/** Far above what any needs, below the 10 s that fish waits for an answer that does not come. */
const LIMIT_MS = 8000;

describe("R1.6 programs start at once and go when told", () => {
	for (const { argv, ready, quit } of PROGRAMS) {
		const program = argv[0] === "sh" ? "fzf" : argv[0]!;
		test(program, needing("python3", program), async () => {
			const dir = mkdtempSync(join(tmpdir(), "real-programs-"));
			writeFileSync(join(dir, "notes.txt"), "first line\nsecond line\n");
			const screen = new Screen({ cols: 80, rows: 24 });
			const child = startBridged(argv, { cols: 80, rows: 24, cwd: dir, env: { HOME: dir } });
			const ended = new Promise<"ended">((resolve) => child.stdout.on("end", () => resolve("ended")));
			try {
				screen.onReply((bytes) => child.stdin.write(bytes));
				const seen = new Promise<"ready">((resolve) =>
					child.stdout.on("data", (bytes: Buffer) => {
						screen.feed(bytes);
						if (ready.test(screen.snapshot().text)) resolve("ready");
					}),
				);
				expect(await within(LIMIT_MS, Promise.race([seen, ended]), () => screen.snapshot().text)).toBe("ready");
				for (const key of quit) child.stdin.write(encodeKey(key, screen.modes));
				expect(await within(LIMIT_MS, ended, () => screen.snapshot().text)).toBe("ended");
				expect(screen.modes).toMatchObject({
					alternateScreen: false,
					cursorVisible: true,
					mouse: "none",
					kittyKeyboard: 0,
				});
			} finally {
				child.stdin.destroy();
				await ended;
				screen.dispose();
				rmSync(dir, { recursive: true, force: true });
			}
		});
	}
});

/** The promise's value, or what the screen showed when the time was over. */
async function within<T>(ms: number, promise: Promise<T>, otherwise: () => string): Promise<T | string> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<string>((resolve) => {
		timer = setTimeout(() => resolve(`after ${ms} ms: ${otherwise()}`), ms);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}
