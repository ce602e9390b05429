import { describe, expect, test } from "vitest";
import { screenFacts } from "../../test/screen-facts.ts";
import type { TerminalFlag } from "../protocol/kernel-facts.ts";
import { inputKind, type Modes } from "./input-kind.ts";

// The settings that programs were seen to wait with.
const COOKED: readonly TerminalFlag[] = ["icrnl", "iexten", "lnext", "opost", "ixon"];
const READLINE: readonly TerminalFlag[] = ["iexten", "opost", "ixon"];
const EDITLINE: readonly TerminalFlag[] = ["icrnl", "opost", "ixon"];
const LIBUV: readonly TerminalFlag[] = ["lnext", "opost"];
const MAKERAW: readonly TerminalFlag[] = ["lnext"];

const raw = (flags?: readonly TerminalFlag[], echo = false): Modes => ({
	canonical: false,
	echo,
	...(flags === undefined ? {} : { flags }),
});
const line = (echo: boolean): Modes => ({ canonical: true, echo, flags: COOKED });

describe("A5 what a waiting program wants", () => {
	test.each([
		["a line in line mode", line(true), {}, "line"],
		["a secret in line mode", line(false), {}, "secret"],
		["an editor", raw(LIBUV), { alternate: true, bracketedPaste: true, applicationKeys: true }, "screen"],
		["a dialog without the alternate screen", raw(["iexten", "lnext", "opost"]), { applicationKeys: true }, "screen"],
		["a monitor that hides the cursor", raw(COOKED), { applicationKeys: true, cursorVisible: false }, "screen"],
		["an editor on the main screen", raw(MAKERAW), { bracketedPaste: true, footerBelow: 28 }, "screen"],
		["readline", raw(READLINE), { bracketedPaste: true, lastLine: "(gdb) " }, "line"],
		["readline, an empty prompt", raw(READLINE), { cursorColumn: 0 }, "line"],
		["readline in application mode", raw(READLINE), { bracketedPaste: true, applicationKeys: true }, "line"],
		["editline", raw(EDITLINE), { lastLine: "php > " }, "line"],
		[
			"a prompt with a toolbar below it",
			raw(LIBUV),
			{ bracketedPaste: true, footerBelow: 28, lastLine: "In [1]: " },
			"line",
		],
		[
			"a browser on the main screen",
			raw(["lnext", "opost", "ixon"]),
			{ bracketedPaste: true, footerBelow: 12 },
			"screen",
		],
		["a shell that switches application keys on", raw(LIBUV), { applicationKeys: true, lastLine: "# " }, "line"],
		["a shell that only switches line mode off", raw(COOKED), { lastLine: "/tmp # " }, "line"],
		["libuv, a question", raw(LIBUV), { lastLine: "name? " }, "line"],
		["libuv, yes or no, with Enter", raw(LIBUV), { lastLine: "? Are you sure? (Y/n) " }, "line"],
		["a text field with a cursor of its own", raw(LIBUV), { cursorVisible: false, drawnCursor: true }, "line"],
		["a menu", raw(LIBUV), { cursorVisible: false, lastLine: "↑↓ navigate • ⏎ select" }, "key"],
		["a masked field", raw(LIBUV), { cursorVisible: false, lastLine: "? Password [input is masked]" }, "secret"],
		["a password through a relay", raw(MAKERAW), { lastLine: "ann@far's password: " }, "secret"],
		["a shell through a relay", raw(MAKERAW), { bracketedPaste: true, lastLine: "ann@far:~$ " }, "line"],
		["a small line editor", raw(MAKERAW), { lastLine: "redis> " }, "line"],
		["one key, echoed", raw(COOKED, true), { lastLine: "key: " }, "key"],
		["one key of several", raw(COOKED), { lastLine: "Stage this hunk [y,n,q,a,d,e,?]? " }, "key"],
		["yes or no, all settings raw", raw(MAKERAW), { lastLine: "Continue? [y/N] " }, "key"],
		["a pager on the main screen", raw(COOKED), { lastLine: "--More--(13%)" }, "key"],
		["a pager that reads Ctrl+V", raw(["icrnl", "iexten", "opost"]), { lastLine: ":" }, "key"],
		["press any key", raw(LIBUV), { lastLine: "Press ENTER or type command to continue" }, "key"],
		["output without a prompt", raw(LIBUV), { lastLine: "X = 1 " }, "key"],
		["an older holder, a prompt", raw(), { lastLine: ">>> " }, "line"],
		["an older holder, a full screen", raw(), { alternate: true }, "screen"],
	] as const)("%s", (_, modes, screen, kind) => {
		expect(inputKind(modes, screenFacts(screen)).kind).toBe(kind);
	});

	test("a line that has been begun stays one", () => {
		expect(inputKind(raw(LIBUV), screenFacts({ lastLine: "> 6*" }), { midLine: true }).kind).toBe("line");
	});

	test("within a multiplexer's full screen a line editor is still one, and an editor is a screen", () => {
		const screen = screenFacts({ alternate: true, applicationKeys: true, bracketedPaste: true });
		expect(inputKind(raw(READLINE), screen, { relayed: true }).kind).toBe("line");
		expect(inputKind(raw(LIBUV), screen, { relayed: true }).kind).toBe("screen");
		expect(inputKind(raw(READLINE), screen).kind).toBe("screen");
	});

	test("the sentence names the mode and what decided", () => {
		expect(inputKind(raw(READLINE), screenFacts({ bracketedPaste: true })).because).toBe(
			"raw mode, takes pastes as such",
		);
		expect(inputKind(line(false), screenFacts()).because).toBe("line mode, echo off");
	});
});
