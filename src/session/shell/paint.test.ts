import { expect, test } from "vitest";
import { paintOver } from "./paint.ts";

const place = { cols: 20, column: 2, typed: 10 };

test.each([
	["a command that fits is shown whole", "ls -la", place, "\x1b[1A\x1b[3G\x1b[Jls -la\r\n"],
	["one that is too long is cut", "echo 12345678901234567890", place, "\x1b[1A\x1b[3G\x1b[Jecho 12345678901…\r\n"],
	["of many lines the first is shown", "cat <<X\na\nX", place, "\x1b[1A\x1b[3G\x1b[Jcat <<X…\r\n"],
	["escapes do nothing", "echo \x1b[2J", place, "\x1b[1A\x1b[3G\x1b[Jecho [2J\r\n"],
	["a typed line that wrapped is covered too", "x", { ...place, typed: 19 }, "\x1b[2A\x1b[3G\x1b[Jx\r\n"],
])("%s", (_, command, where, painted) => {
	expect(paintOver(command, where)).toBe(painted);
});
