// The screen as one sees it who joins, over HTTP and over the daemon's socket: with the lines above it, or without them.

import { Terminal } from "@xterm/headless";
import { expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import type { ScreenSnapshot } from "../../src/tools/client.ts";
import { RealServer } from "./real-server.ts";

const LINES = 400;

/** All rows of a terminal to which the content was written. */
async function drawn({ content, cols, rows }: ScreenSnapshot): Promise<readonly string[]> {
	const terminal = new Terminal({ cols, rows, scrollback: 1000, allowProposedApi: true });
	await new Promise<void>((written) => terminal.write(content, written));
	const { active } = terminal.buffer;
	return Array.from({ length: active.length }, (_, row) => active.getLine(row)!.translateToString(true));
}

test("a snapshot without scrollback shows the same screen, and nothing above it", async () => {
	await using server = await RealServer.start();
	const program = `seq -f 'line %g' ${LINES}; printf '\\033[31mred\\033[m> '; read`;
	await server.post("/v1/tools/start", { name: "long", argv: ["bash", "-c", program], until: { text: "red> " } });
	const ask = async (query: string) =>
		(await (await server.get(`/v1/sessions/long/snapshot${query}`)).json()) as ScreenSnapshot;
	const [all, screen] = [await ask(""), await ask("?scrollback=0")];
	expect({ ...screen, content: "" }).toEqual({ ...all, content: "" });
	const [allRows, rows] = [await drawn(all), await drawn(screen)];
	expect(allRows).toContain("line 1");
	expect(rows).toHaveLength(screen.rows);
	expect(rows).toEqual(allRows.slice(-screen.rows));
	expect(screen.content).toContain("\x1b[31mred");
	expect(screen.content.length).toBeLessThan(all.content.length / 4);
	for (const wrong of ["5", "-1", "none"])
		expect((await server.get(`/v1/sessions/long/snapshot?scrollback=${wrong}`)).status).toBe(400);
	await using library = await Dialtone.connect({ home: server.home, owner: "program" });
	expect(await library.client.snapshot("long", { screenOnly: true })).toEqual(screen);
	expect(await library.client.snapshot("long")).toEqual(all);
});
