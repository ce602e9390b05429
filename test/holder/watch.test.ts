// Facts as they change, while somebody watches, and an offset that is a true barrier.

import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { compiled } from "../pty/stage.ts";
import { Client, cleanUp, launch } from "./raw-holder.ts";

afterEach(cleanUp);

const isFreshReader = ({ doing, fresh }: { doing: string; fresh: boolean }) => doing === "tty-read" && fresh;

describe("R1.4 facts", () => {
	test("name the terminal's modes, the foreground group and what is unread", async () => {
		const session = await launch({ argv: ["bash", "-c", "stty -echo; echo ready; sleep 300"] });
		const client = await Client.open(session.socket);
		await client.until(() => client.text.includes("ready"));
		await client.type("typed ahead\n");
		const facts = await client.facts();
		expect(facts).toMatchObject({
			readable: true,
			canonical: true,
			echo: false,
			signals: true,
			queued: 0,
			unread: 12,
			offset: client.cursor,
			foregroundGroup: session.pid,
			mainForeground: true,
		});
		expect(facts.sinceInputMs).toBeLessThan(facts.quietMs + 1000);
	});

	test("are pushed when the program begins to wait, with everything it wrote below their offset", async () => {
		const session = await launch({
			argv: ["bash", "-c", "while read -r word; do printf '%s' \"$word-$word? \"; done"],
		});
		const client = await Client.open(session.socket);
		expect(await client.watch(true)).toEqual({ done: 0 });
		for (let turn = 0; turn < 50; turn++) {
			const { done: typed } = await client.type(`w${turn}\n`);
			const waiting = () =>
				client.pushed.find(
					(facts) =>
						facts.inputOffset === typed &&
						facts.unread === 0 &&
						facts.queued === 0 &&
						facts.threads.some(isFreshReader),
				);
			await client.until(() => waiting() !== undefined);
			await client.until(() => client.cursor >= waiting().offset);
			expect(client.text).toContain(`w${turn}-w${turn}? `);
		}
	});

	// Such facts would stand until the next full probe, and a caller be told a quarter of a second late. Here looks
	// take long between the count and the threads, so that mostly what was typed ahead is read in between.
	test(
		"never say that input is unread by who sleeps in a read of a line again",
		needing("gcc", "python3"),
		async () => {
			const script =
				"import sys, time\nfor round in range(10):\n print('type', round, flush=True)\n time.sleep(0.06)\n" +
				" sys.stdin.readline()\n print('taken', round, flush=True)\n sys.stdin.readline()";
			const session = await launch({ argv: ["python3", "-c", script], through: [compiled("slow-look")] });
			const client = await Client.open(session.socket);
			await client.watch(true);
			for (let round = 0; round < 10; round++) {
				await client.until(() => client.text.includes(`type ${round}`));
				await client.type("ahead\n");
				await client.until(() => client.text.includes(`taken ${round}`));
				await client.until(() => {
					const { offset, unread, threads } = client.pushed.at(-1) ?? {};
					return offset >= client.cursor && unread === 0 && threads.some(isFreshReader);
				});
				await client.type("next\n");
			}
			const isReader = ({ doing }: { doing: string }) => doing === "tty-read";
			expect(client.pushed.filter(({ unread, threads }) => unread > 0 && threads.some(isReader))).toEqual([]);
		},
	);

	test("are pushed to nobody who has stopped watching, and an idle session is left alone", async () => {
		const session = await launch({ argv: ["cat"] });
		const client = await Client.open(session.socket);
		await client.watch(true);
		await client.until(() => client.pushed.length > 0);
		await client.watch(false);
		const pushed = client.pushed.length;
		await client.type("x\n");
		await client.until(() => client.text.includes("x\r\nx"));
		await client.facts();
		expect(client.pushed.length).toBe(pushed);
	});
});
