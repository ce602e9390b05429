import { expect, test } from "vitest";
import { processorMs } from "../../test/processor-time.ts";
import { asks, type LineShape, shapeOf } from "./last-line.ts";

const lines: Record<LineShape, readonly string[]> = {
	empty: ["", "   "],
	progress: [
		"Compiling:",
		"Downloading: foo",
		"Building wheel for numpy",
		"Reading package lists... 45%",
		"Fetching...",
		"Installing dependencies…",
		"⠋ resolving",
		"| linking",
		" 37%",
		"12.5 % done",
	],
	secret: [
		"Password:",
		"Password: ",
		"[sudo] password for ann:",
		"root@localhost's password:",
		"Enter passphrase for key '/root/.ssh/id_ed25519':",
		"Current password:",
		"Verification code:",
		"? Password [input is masked]",
	],
	choice: [
		"Do you want to continue? [Y/n]",
		"Overwrite existing file (y/N)?",
		"Proceed ([y]/n)?",
		"Stage this hunk [y,n,q,a,d,e,?]?",
	],
	completions: [
		"Display all 1548 possibilities? (y or n)",
		"zsh: do you wish to see all 1548 possibilities (774 lines)?",
	],
	question: [
		"Are you sure you want to continue connecting (yes/no/[fingerprint])?",
		"rm: remove regular file 'a'?",
		"Is this OK? (yes)",
		"package name: (dialtone)",
		"Your name:",
		"Port [8080]:",
		"API key:",
	],
	keypress: [
		"Press any key to continue",
		"Press any key to continue...",
		"Press ENTER to continue",
		"key? ",
		"Any key:",
	],
	pager: ["--More--", "-- More --(12%)", "--More--(12%)", "(END)", ":", "lines 1-23/80 17%", "file.txt (END)"],
	menu: ["? Pick a fruit", "◆  Which one", "❯ apples"],
	prompt: [
		"/ #",
		"/ $ ",
		"(gdb)",
		"(Pdb)",
		"(Cmd)",
		">>>",
		"...",
		"In [3]:",
		"$",
		"ann@host:~/src$",
		"root#",
		"mysql>",
		"postgres=#",
		"❯",
	],
	text: ["hello", "Do you want to continue? [Y/n] y", "Your name: Ann", "3 tests passed", "x".repeat(500)],
};

for (const [shape, examples] of Object.entries(lines))
	test.each(examples)(`%j is ${shape}`, (line) => {
		expect(shapeOf(line)).toBe(shape);
	});

test("a typed answer, work that names itself and plain output ask for nothing", () => {
	for (const line of ["Continue? [Y/n] y", "Compiling:", "done", ""]) expect(asks(shapeOf(line)), line).toBe(false);
});

test("a hostile line costs no time", () => {
	const pieces = ["(", "[y/", "a:", "? ", "ing ", "%", "-- more "];
	const spent = processorMs(() => {
		for (const piece of pieces) shapeOf(piece.repeat(399 / piece.length));
	});
	expect(spent).toBeLessThan(50);
});
