import { Terminal } from "@xterm/headless";
import type { Terminal as PageTerminal } from "@xterm/xterm";
import { expect, test, vi } from "vitest";
import { Thumbnails } from "./thumbnails.ts";

const headless = () => new Terminal({ allowProposedApi: true, logLevel: "off" }) as unknown as PageTerminal;
const screen = { content: "hello", cols: 80, rows: 24, offset: 5 };

test("a visible session is fetched once, and again only after it has printed", async () => {
	const fetched: string[] = [];
	const drawn: string[] = [];
	let now = 0;
	const thumbnails = new Thumbnails({
		terminal: headless(),
		fetch: async (id) => {
			fetched.push(id);
			return screen;
		},
		now: () => now,
	});
	thumbnails.show("a", 5, (terminal) => drawn.push(terminal.buffer.active.getLine(0)!.translateToString(true)));
	await vi.waitFor(() => expect(drawn).toEqual(["hello"]));
	thumbnails.changed("a", 5);
	thumbnails.changed("hidden", 7);
	expect(fetched).toEqual(["a"]);
	now += 10_000;
	thumbnails.changed("a", 9);
	await vi.waitFor(() => expect(drawn).toHaveLength(2));
	expect(fetched).toEqual(["a", "a"]);
	thumbnails.dispose();
});
