import { describe, expect, test } from "vitest";
import { ShellCommands } from "./commands.ts";

const nonces = { aid: "5ca1ab1e", end: "0ddba11" };
const identity = { version: 3, kind: "bash", program: "bash", name: "main", dir: "/nowhere", ...nonces } as const;
const mark = (kind: string, rest = "") => `\x1b]133;${kind};aid=${nonces.aid}${rest}\x07`;
const RUN = ";r=7";

/** A shell in which a command runs, and whether it has the terminal. */
function shell({ from = 0 } = {}) {
	const commands = new ShellCommands(identity);
	const kernel = { isForeground: false };
	commands.guard({ from, isForeground: () => kernel.isForeground });
	let at = 0;
	const prints = (text: string, isForeground: boolean) => {
		kernel.isForeground = isForeground;
		const bytes = new TextEncoder().encode(text);
		commands.take({ offset: at, bytes });
		at += bytes.length;
	};
	commands.expect("7", "job");
	prints(mark("C", `;n=1${RUN}`), false);
	return { commands, prints };
}

describe("G5: an end counts when the shell has the terminal", () => {
	const forged = mark("D;0", `;n=2${RUN};pipe=0`);
	const own = mark("D;7", `;n=2${RUN};pipe=7`);
	const prompt = mark("A") + mark("B", ";s=7");

	test("one that another program tells does not count, nor does it use up the number of the shell's own", () => {
		const { commands, prints } = shell();
		prints(forged + mark("B", ";s=0"), false);
		expect(commands.running?.run).toBe("7");
		prints(own, true);
		expect(commands.last).toMatchObject({ run: "7", exitCode: 7, pipeStatus: [7], disputed: false });
	});

	test("one of the shell, whose prompt runs a program already, counts with the prompt", () => {
		const { commands, prints } = shell();
		prints(`out${own}`, false);
		expect(commands.running).not.toBeNull();
		prints(prompt, true);
		expect(commands.last).toMatchObject({ exitCode: 7, pipeStatus: [7], disputed: false });
		expect(commands.ready).toBe(true);
	});

	test("two that differ leave no code, in whichever order they come", () => {
		for (const parts of [
			[{ text: forged + own, isForeground: false }],
			[
				{ text: forged, isForeground: true },
				{ text: own, isForeground: true },
			],
			[{ text: forged + own, isForeground: true }],
			[{ text: forged, isForeground: false }],
		]) {
			const { commands, prints } = shell();
			for (const { text, isForeground } of parts) prints(text, isForeground);
			prints(prompt, true);
			expect(commands.last).toMatchObject({ exitCode: null, pipeStatus: [], disputed: true });
		}
	});

	test("what was printed before this daemon is history, whoever has the terminal now", () => {
		const { commands, prints } = shell({ from: 1_000_000 });
		prints(own, false);
		expect(commands.last).toMatchObject({ exitCode: 7, disputed: false });
	});

	test("the nonce of streams ends no command, and that of commands no stream", () => {
		const { commands, prints } = shell();
		prints(own.replace(nonces.aid, nonces.end), true);
		expect(commands.running).not.toBeNull();
		prints(mark("E;1", RUN) + mark("E;2", RUN), true);
		expect(commands.streamsEnded).toBe(false);
		prints((mark("E;1", RUN) + mark("E;2", RUN)).replaceAll(nonces.aid, nonces.end), true);
		expect(commands.streamsEnded).toBe(true);
	});
});
