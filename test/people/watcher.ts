// One who watches a session: what a page would show of it.

import { expect } from "vitest";
import { Screen } from "../../src/terminal/screen.ts";
import type { ViewChunk } from "../../src/tools/client.ts";

export class Watcher {
	screen = new Screen({ cols: 80, rows: 24 });
	snapshots = 0;
	bytes = 0;
	end: ViewChunk | null = null;
	at = 0;

	take(chunk: ViewChunk): void {
		if ("snapshot" in chunk) {
			const { cols, rows, content, offset } = chunk.snapshot;
			this.screen.dispose();
			this.screen = new Screen({ cols, rows });
			this.screen.feed(Buffer.from(content));
			this.snapshots++;
			this.at = offset;
		} else if ("bytes" in chunk) {
			expect(chunk.offset).toBe(this.at); // no byte is missing, none comes twice
			this.screen.feed(chunk.bytes);
			this.bytes += chunk.bytes.length;
			this.at += chunk.bytes.length;
		} else if ("resized" in chunk) this.screen.resize(chunk.resized.cols, chunk.resized.rows);
		else if ("ended" in chunk) this.end = chunk;
	}

	get text(): string {
		return this.screen.snapshot().text;
	}
}
