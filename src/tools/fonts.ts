// Which fonts draw a text, and what none of them has.
//
// Pictures are drawn without the system's font library, so fonts are found by their files, and what a font covers is read
// from its own table of characters. Fonts of coloured bitmaps (most emoji) are passed over: resvg draws nothing for them.

import { type FileHandle, open, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type CleanLine, joined, oneLine, safe } from "../protocol/clean.ts";

export interface Fonts {
	/** Empty where there is no monospaced font at all. */
	readonly files: readonly string[];
	/** Characters that none of them has. */
	readonly missing: readonly string[];
}

/** `DIALTONE_FONTS`, or where systems and people keep them. */
function fontDirectories(): readonly string[] {
	const given = process.env.DIALTONE_FONTS;
	if (given !== undefined && given !== "") return given.split(delimiter);
	const own = [".local/share/fonts", ".fonts", "Library/Fonts"].map((path) => join(homedir(), path));
	return [...own, "/usr/local/share/fonts", "/usr/share/fonts", "/System/Library/Fonts", "/Library/Fonts"];
}

/** Monospaced, the first that is there. */
const MAIN = ["DejaVuSansMono", "NotoSansMono-Regular", "LiberationMono-Regular", "Menlo"];
const BOLD: Readonly<Record<string, string>> = {
	DejaVuSansMono: "DejaVuSansMono-Bold",
	"NotoSansMono-Regular": "NotoSansMono-Bold",
	"LiberationMono-Regular": "LiberationMono-Bold",
};
/** Beside a monospaced regular one they would look odd. */
const ODD = /bold|italic|oblique|light|thin|black|medium|condensed|serif|slanted|display/i;
/** The others by how well they fit in: plain sans-serif ones first, bitmaps of everything last. */
const rank = (name: string) => (/mono/i.test(name) ? 0 : /sans/i.test(name) ? 1 : /unifont/i.test(name) ? 3 : 2);
/** As many as the largest collection has, several times over. */
const MAX_FILES = 2000;

/** The fonts to draw this text with: the main one, and others only for what it lacks. */
export async function fontsFor(text: string, directories: readonly string[] = fontDirectories()): Promise<Fonts> {
	const wanted = new Set([...text].filter((char) => !/[\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}]/u.test(char)));
	const found = await fontFiles(directories);
	const name = MAIN.find((one) => found.has(one));
	if (name === undefined) return { files: [], missing: [...wanted] };
	const files = [found.get(name)!, found.get(BOLD[name] ?? "")].filter((path) => path !== undefined);
	await takeCovered(files[0]!, wanted);
	const others = [...found].filter(([other]) => other !== name && !ODD.test(other));
	others.sort(([one], [other]) => rank(one) - rank(other) || (one < other ? -1 : 1));
	for (const [, path] of others) {
		if (wanted.size === 0) break;
		if (await takeCovered(path, wanted)) files.push(path);
	}
	return { files, missing: [...wanted] };
}

async function fontFiles(directories: readonly string[]): Promise<ReadonlyMap<string, string>> {
	const found = new Map<string, string>();
	for (const directory of directories) {
		const entries = await readdir(directory, { recursive: true }).catch(() => []); // most are not there
		for (const entry of entries) {
			const name = /([^/]+)\.(?:ttf|otf|ttc)$/i.exec(entry)?.[1];
			if (name !== undefined && !found.has(name) && found.size < MAX_FILES) found.set(name, join(directory, entry));
		}
	}
	return found;
}

/** Removes from `wanted` what this font has; true if that was anything. */
async function takeCovered(path: string, wanted: Set<string>): Promise<boolean> {
	const before = wanted.size;
	const covers = await coverage(path).catch(() => null); // not readable, or not a font
	if (covers !== null) for (const char of wanted) if (covers(char.codePointAt(0)!)) wanted.delete(char);
	return wanted.size < before;
}

/** A font's table of characters ('cmap'), or null if it has no outlines. */
async function coverage(path: string): Promise<((code: number) => boolean) | null> {
	await using file = await open(path);
	const start = await bytesAt(file, 0, 16);
	const directoryAt = start.toString("latin1", 0, 4) === "ttcf" ? start.readUInt32BE(12) : 0;
	const tables = await tablesAt(file, directoryAt);
	const cmap = tables.get("cmap");
	if (cmap === undefined || !["glyf", "CFF ", "CFF2"].some((outlines) => tables.has(outlines))) return null;
	const table = await bytesAt(file, cmap.offset, Math.min(cmap.length, MAX_TABLE_BYTES));
	const segments = segmentsOf(table);
	return (code) => segments.some(({ from, to }) => code >= from && code <= to);
}

const MAX_TABLE_BYTES = 4 << 20;

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
	const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
	return buffer.subarray(0, bytesRead);
}

async function tablesAt(file: FileHandle, at: number) {
	const count = (await bytesAt(file, at, 12)).readUInt16BE(4);
	const rows = await bytesAt(file, at + 12, count * 16);
	return new Map(
		Array.from({ length: count }, (_, i) => [
			rows.toString("latin1", i * 16, i * 16 + 4),
			{ offset: rows.readUInt32BE(i * 16 + 8), length: rows.readUInt32BE(i * 16 + 12) },
		]),
	);
}

interface Segment {
	readonly from: number;
	readonly to: number;
}

/** The ranges of the Unicode subtables: format 12 (all planes) and 4 (the first). */
function segmentsOf(cmap: Buffer): Segment[] {
	const subtables = Array.from({ length: cmap.readUInt16BE(2) }, (_, i) => cmap.readUInt32BE(4 + i * 8 + 4));
	return [...new Set(subtables)].flatMap((at) => {
		const format = cmap.readUInt16BE(at);
		if (format === 12)
			return Array.from({ length: cmap.readUInt32BE(at + 12) }, (_, i) => {
				const group = at + 16 + i * 12;
				return { from: cmap.readUInt32BE(group), to: cmap.readUInt32BE(group + 4) };
			});
		if (format !== 4) return [];
		const doubled = cmap.readUInt16BE(at + 6);
		return Array.from({ length: doubled / 2 }, (_, i) => ({
			from: cmap.readUInt16BE(at + 16 + doubled + i * 2),
			to: cmap.readUInt16BE(at + 14 + i * 2),
		})).filter(({ from }) => from !== 0xffff); // the mark of the end
	});
}

/** What to install, by the first row that a character fits. */
const PACKAGES = [
	{
		fits: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3000-\u303f\uff00-\uffef]/u,
		what: "Chinese, Japanese and Korean",
		from: "Debian: fonts-noto-cjk",
	},
	{ fits: /\p{Extended_Pictographic}|\p{Emoji_Presentation}/u, what: "emoji", from: "Debian: fonts-symbola" },
	{ fits: /\p{Co}/u, what: "private-use icons", from: "a Nerd Font" },
	{ fits: /[\p{L}\p{M}\p{N}]/u, what: "other scripts", from: "Debian: fonts-noto-core" },
	{ fits: /./su, what: "symbols", from: "Debian: fonts-symbola" },
] as const;

/** What a caller is told about characters without a font; null if there are none. */
export function missingFontsNotice(missing: readonly string[]): CleanLine | null {
	if (missing.length === 0) return null;
	const rows = new Set(missing.map((char) => PACKAGES.find(({ fits }) => fits.test(char))!));
	const list = [...rows].map(({ what, from }) => safe`${oneLine(what)} (${oneLine(from)})`);
	return safe`shown as boxes because no font here has them: ${missing.length} different characters; install a font for ${joined(list, ", ")}`;
}
