// One change to one state file, as data: what something else than the daemon may have left there.

import { spawnSync } from "node:child_process";
import { existsSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mutateBytes, mutateJson, nasty, Random } from "./random.ts";

/** Files of a session that has ended; those of a running one that the daemon writes; and those of the home. */
export const FILES = {
	ended: [
		"meta.json",
		"meta.copy.json",
		"keyframe.json",
		"seen.json",
		"exit",
		"timing",
		"turns",
		"out.00000000000000000000",
	],
	live: ["meta.json", "meta.copy.json", "keyframe.json", "seen.json", "exit", "turns", "out.00000000000000099999"],
	home: [
		"sessions/ended.jsonl",
		"tokens.json",
		"policy.json",
		"learnt.json",
		"epoch",
		"daemon-place",
		"fleet.json",
		"run/daemon.7",
		"run/d7.sock",
		"audit/000001.jsonl",
		"audit-head.json",
		"audit/key",
		"audit/noticed.json",
	],
} as const;
const PLANTED = [
	...(["out.99999999999999999999", "out.00000000000000000005", "out.x", "meta.json.tmp", "exit.tmp"] as const),
	...(["driver.json", "asked.json", "turns.old"] as const),
];

export interface StateCase {
	readonly place: keyof typeof FILES;
	readonly file: string;
	/** What becomes of it. `seed` decides about the random ones. */
	readonly change:
		| { readonly kind: "json" | "bytes" | "flip" | "cut"; readonly seed: number }
		| { readonly kind: "text"; readonly text: string }
		| { readonly kind: "huge"; readonly bytes: number }
		| { readonly kind: "copy"; readonly of: string }
		| { readonly kind: "missing" | "directory" | "dangling" | "loop" | "fifo" | "hardlink" };
}

const KINDS = ["json", "json", "json", "bytes", "flip", "cut", "text", "huge", "copy", "other"] as const;
const TEXTS = ["", "{}", "[]", "null", "0", "-1", '"x"', "{", "\0\0\0\0", "18446744073709551615", "99999999999", "NaN"];

export function stateCase(random: Random): StateCase {
	const place = random.pick(["ended", "ended", "ended", "ended", "live", "home"] as const);
	const files: readonly string[] = place === "home" ? FILES.home : [...FILES[place], ...FILES[place], ...PLANTED];
	const file = random.pick(files);
	const kind = random.pick(KINDS);
	const seed = random.int(2 ** 31);
	switch (kind) {
		case "text": {
			const text = random.chance(0.7) ? random.pick(TEXTS) : (JSON.stringify(nasty(random)) ?? "");
			return { place, file, change: { kind, text } };
		}
		case "huge":
			return { place, file, change: { kind, bytes: random.pick([1 << 20, 8 << 20, 60 << 20]) } };
		case "copy":
			return { place, file, change: { kind, of: random.pick(FILES.ended) } };
		case "other": {
			const other = random.pick(["missing", "directory", "dangling", "loop", "fifo", "hardlink"] as const);
			return { place, file, change: { kind: other } };
		}
		default:
			return { place, file, change: { kind, seed } };
	}
}

/** Makes the change to the file at this path. */
/** Makes the change to the file, in its session's directory or in the home. */
export function apply({ file, change }: StateCase, directory: string): void {
	const path = join(directory, file);
	const before = lstatSync(path, { throwIfNoEntry: false })?.isFile()
		? readFileSync(path)
		: Buffer.from(firstContent(file));
	rmSync(path, { recursive: true, force: true });
	const content = contentOf(change, before, directory);
	if (content !== null) writeFileSync(path, content, { mode: 0o600 });
	else if (change.kind === "directory") mkdirSync(path);
	else if (change.kind === "dangling") symlinkSync("/nowhere/at/all", path);
	else if (change.kind === "loop") symlinkSync(path, path);
	else if (change.kind === "fifo") spawnSync("mkfifo", ["-m", "600", path]);
	else if (change.kind === "hardlink") {
		const other = join(dirname(path), "other-name");
		writeFileSync(other, before, { mode: 0o600 });
		linkSync(other, path);
		rmSync(other);
	}
}

/** What the file contains then; null where it is no file of its own. */
function contentOf(change: StateCase["change"], before: Buffer, directory: string): string | Buffer | null {
	switch (change.kind) {
		case "json":
			return changedJson(before.toString("utf8"), new Random(change.seed));
		case "bytes":
			return mutateBytes(before, new Random(change.seed));
		case "flip": {
			const flipped = Buffer.from(before);
			if (flipped.length > 0) flipped[change.seed % flipped.length]! ^= 1 << (change.seed % 8);
			return flipped;
		}
		case "cut":
			return before.subarray(0, change.seed % (before.length + 1));
		case "text":
			return change.text;
		case "huge":
			return Buffer.concat([before.subarray(0, 20), Buffer.alloc(change.bytes, 0x20)]);
		case "copy": {
			const other = join(directory, change.of);
			return existsSync(other) ? readFileSync(other) : "";
		}
		default:
			return null;
	}
}

/** A lock as a dead daemon leaves it; for other files something small. */
function firstContent(file: string): string {
	const lock = { epoch: 7, pid: 4_000_000, born: "1", socket: "/tmp/nowhere.sock", version: "0.1.0" };
	return file.includes("daemon.") ? JSON.stringify(lock) : '{"version":1}';
}

function changedJson(text: string, random: Random): string {
	const lines = text.split("\n");
	const at = random.int(lines.length);
	try {
		lines[at] = JSON.stringify(mutateJson(JSON.parse(lines[at]!), random)) ?? "";
	} catch {
		lines[at] = JSON.stringify(nasty(random)) ?? ""; // it was no JSON
	}
	return lines.join("\n");
}
