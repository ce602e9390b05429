// Where the daemon's HTTP is pinned, in a file: a daemon that is killed leaves it, and whoever starts the next one has
// HTTP opened there again, so that a page finds it. One that stops in order removes it.

import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { reportError } from "../protocol/listeners.ts";
import { bootId } from "../pty/boot-id.ts";
import { readPrivate } from "./private-file.ts";
import type { TlsPlace } from "./wire.ts";

export interface PinnedHttp {
	readonly url: string;
	readonly tls?: TlsPlace;
}

const FILE = "http.json";
const MAX_BYTES = 4096;

/** `http`: null where it is closed, or closes with the one who opened it. */
export function keepPinned(run: string, http: PinnedHttp | null): void {
	const path = join(run, FILE);
	try {
		if (http !== null) {
			writeFileSync(`${path}.tmp`, JSON.stringify({ url: http.url, tls: http.tls, boot: bootId(), pid: process.pid }), {
				mode: 0o600,
			});
			renameSync(`${path}.tmp`, path);
		} else if (readPinned(path)?.pid === process.pid) rmSync(path); // the daemon that replaces us may have its own there
	} catch (error) {
		reportError(error, "keeping where HTTP is"); // a full disk: it is not opened again after a kill
	}
}

/** Where a daemon of this boot had it pinned that did not close it; null where none did. */
export function pinnedBefore(run: string): PinnedHttp | null {
	const { url, boot, tls } = readPinned(join(run, FILE)) ?? {};
	if (typeof url !== "string" || !URL.canParse(url) || boot !== bootId()) return null;
	return { url, ...(tls !== undefined && { tls }) };
}

/** `tls` is checked by the daemon that is asked for it. */
interface Kept {
	readonly url?: unknown;
	readonly boot?: unknown;
	readonly pid?: unknown;
	readonly tls?: TlsPlace;
}

function readPinned(path: string): Kept | null {
	try {
		return JSON.parse(readPrivate(path, MAX_BYTES));
	} catch {
		return null; // there is none, or it is not ours
	}
}
