// How fast bytes become a screen, what a look costs, and what a session weighs:
// our Screen against @xterm/headless bare (as its documentation uses it) and tmux.
// Milliseconds are of CPU, so that a busy machine changes the numbers little.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import addon from "@xterm/addon-unicode11";
import xterm from "@xterm/headless";
import { Screen } from "../src/terminal/screen.ts";
import type { Position } from "../src/terminal/screen-diff.ts";

const COLS = 120;
const ROWS = 40;
const CHUNK = 65536;
const golden = join(import.meta.dirname, "../test/terminal/golden");

const repeat = (piece: (i: number) => string | Buffer, bytes: number): Buffer => {
	const parts: Buffer[] = [];
	for (let size = 0, i = 0; size < bytes; i++) {
		const part = Buffer.from(piece(i));
		parts.push(part);
		size += part.length;
	}
	return Buffer.concat(parts).subarray(0, bytes);
};

function workloads(bytes: number): Record<string, Buffer> {
	const recorded = ["vim", "nvim", "htop", "less", "fzf", "dialog"].map((name) =>
		readFileSync(join(golden, `${name}.bytes`)),
	);
	return {
		"plain lines": repeat(
			(i) => `${i} the quick brown fox jumps over the lazy dog and goes on to the river bank\r\n`,
			bytes,
		),
		"heavy colour": repeat(
			(i) =>
				`\x1b[1;3${i % 8}m${i}\x1b[0m \x1b[38;5;${i % 256}mquick\x1b[39m \x1b[48;2;${i % 256};9;7mbrown\x1b[0m fox \x1b[4mjumps\x1b[24m\r\n`,
			bytes,
		),
		"full-screen recordings": repeat((i) => recorded[i % recorded.length]!, bytes),
		"CJK and emoji": repeat((i) => `${i} 漢字かな交じり文 한국어 텍스트 🦀 ✅ 👍 café naïve\r\n`, bytes),
	};
}

/** CPU milliseconds of this process. */
const cpuMs = () => {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1000;
};

function ours(bytes: Buffer): number {
	const screen = new Screen({ cols: COLS, rows: ROWS });
	const start = cpuMs();
	for (let at = 0; at < bytes.length; at += CHUNK) screen.feed(bytes.subarray(at, at + CHUNK));
	const spent = cpuMs() - start;
	screen.dispose();
	return spent;
}

async function bare(bytes: Buffer): Promise<number> {
	const term = new xterm.Terminal({
		cols: COLS,
		rows: ROWS,
		scrollback: 1000,
		allowProposedApi: true,
		logLevel: "off",
	});
	term.loadAddon(new (addon as unknown as { Unicode11Addon: new () => never }).Unicode11Addon());
	term.unicode.activeVersion = "11";
	const start = cpuMs();
	for (let at = 0; at < bytes.length; at += CHUNK)
		await new Promise<void>((done) => term.write(bytes.subarray(at, at + CHUNK), done));
	const spent = cpuMs() - start;
	term.dispose();
	return spent;
}

/** CPU of the tmux server from before `cat` to after, from /proc. */
function tmux(bytes: Buffer): number | null {
	const dir = mkdtempSync(join(tmpdir(), "bench-tmux-"));
	const call = (...args: string[]) =>
		execFileSync("tmux", ["-S", join(dir, "s"), "-f", "/dev/null", ...args], {
			encoding: "utf8",
			stdio: ["ignore", "pipe", "ignore"],
		}).trim();
	try {
		writeFileSync(join(dir, "bytes"), bytes);
		call("new-session", "-d", "-x", String(COLS), "-y", String(ROWS), "sleep 600");
		const pid = call("display-message", "-p", "#{pid}");
		const ticks = () => {
			const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
			return Number(fields[11]) + Number(fields[12]);
		};
		const start = ticks();
		call("respawn-pane", "-k", `cat ${dir}/bytes; tmux -S ${dir}/s wait-for -S done; sleep 600`);
		call("wait-for", "done");
		const spent = (ticks() - start) * 10;
		call("kill-server");
		return spent;
	} catch {
		return null; // No tmux here: the column stays empty.
	} finally {
		rmSync(dir, { recursive: true, force: true });
	}
}

const best = async (times: number, measure: () => number | null | Promise<number | null>) => {
	let least: number | null = null;
	for (let i = 0; i < times; i++) {
		const value = await measure();
		if (value !== null && (least === null || value < least)) least = value;
	}
	return least;
};

export async function run({ quick }: { quick: boolean }): Promise<void> {
	const bytes = quick ? 2 << 20 : 16 << 20;
	const times = quick ? 3 : 5;
	const rate = (ms: number | null) => (ms === null ? "–" : `${(bytes / 1e6 / (ms / 1000)).toFixed(1)} MB/s`);
	console.log(`MB per CPU second, ${COLS}×${ROWS}, ${bytes >> 20} MiB, best of ${times}`);
	for (const [name, load] of Object.entries(workloads(bytes))) {
		ours(load.subarray(0, 1 << 20));
		await bare(load.subarray(0, 1 << 20));
		// In turns: the compiler warms up for both, and a noisy neighbour disturbs both.
		let [own, theirs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
		for (let i = 0; i < times; i++) {
			own = Math.min(own, ours(load));
			theirs = Math.min(theirs, await bare(load));
		}
		const other = await best(quick ? 1 : 2, () => tmux(load));
		console.log(
			`  ${name.padEnd(24)} ours ${rate(own)} · xterm bare ${rate(theirs)} (×${(theirs / own).toFixed(2)}) · tmux ${rate(other)}`,
		);
	}
	hashes();
	weight();
	crowd();
}

function hashes(): void {
	const measure = (name: string, screen: Screen, between: (i: number) => string) => {
		const spent: number[] = [];
		let position: Position | null = null;
		for (let i = 0; i < 300; i++) {
			screen.feed(Buffer.from(between(i)));
			const start = performance.now();
			position = screen.diffSince(position).position;
			spent.push(performance.now() - start);
		}
		spent.sort((a, b) => a - b);
		console.log(
			`  look, ${name.padEnd(36)} p50 ${spent[150]!.toFixed(3)} ms · p99 ${spent[297]!.toFixed(3)} ms · position ${JSON.stringify(position).length} bytes`,
		);
	};
	const full = new Screen({ cols: COLS, rows: ROWS });
	full.feed(repeat((i) => `${i} ${"lorem ipsum dolor sit amet ".repeat(4)}\r\n`, 400_000));
	measure("a line added, scrollback full", full, (i) => `line ${i}\r\n`);
	measure("40 new lines", full, (i) => `line ${i} ${"x".repeat(100)}\r\n`.repeat(40));
	const alternate = new Screen({ cols: COLS, rows: ROWS });
	alternate.feed(Buffer.from("\x1b[?1049h"));
	const panel = (i: number) =>
		Array.from(
			{ length: ROWS },
			(_, y) => `\x1b[${y + 1};1H\x1b[44m${`row ${y} frame ${i} `.repeat(12).slice(0, COLS)}\x1b[m`,
		).join("");
	measure("full screen, every cell coloured, new", alternate, panel);
	measure("full screen, one row changed", alternate, (i) => `\x1b[5;5H${i}`);
	const start = performance.now();
	for (let i = 0; i < 200; i++) alternate.snapshot();
	console.log(`  snapshot ${((performance.now() - start) / 200).toFixed(3)} ms`);
}

function weight(): void {
	const gc = (globalThis as { gc?: () => void }).gc ?? (() => {});
	const load = repeat((i) => `${i} ${"lorem ipsum ".repeat(9)}\r\n`, 200_000);
	const screens: Screen[] = [];
	gc();
	const before = process.memoryUsage();
	for (let i = 0; i < 20; i++) {
		const screen = new Screen({ cols: COLS, rows: ROWS });
		screen.feed(load);
		screens.push(screen);
	}
	gc();
	const after = process.memoryUsage();
	const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
	console.log(
		`  a session with ${screens[0]!.snapshot().scrollback} rows of scrollback weighs ${(bytes / screens.length / 1e6).toFixed(2)} MB${globalThis.gc ? "" : " (run with --expose-gc for an exact number)"}`,
	);
	for (const screen of screens) screen.dispose();
}

function crowd(): void {
	const screens = Array.from({ length: 200 }, () => new Screen({ cols: COLS, rows: ROWS }));
	const positions: (Position | null)[] = screens.map(() => null);
	const line = Buffer.from(`${"lorem ipsum dolor ".repeat(6)}\r\n`.repeat(10));
	const rounds: number[] = [];
	for (let round = 0; round < 20; round++) {
		const start = performance.now();
		screens.forEach((screen, i) => {
			screen.feed(line);
			positions[i] = screen.diffSince(positions[i]!).position;
		});
		rounds.push(performance.now() - start);
	}
	rounds.sort((a, b) => a - b);
	console.log(
		`  200 sessions, 1 KB and a look each: p50 ${rounds[10]!.toFixed(1)} ms a round, worst ${rounds[19]!.toFixed(1)} ms`,
	);
	for (const screen of screens) screen.dispose();
}
