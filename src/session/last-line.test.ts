import { expect, test } from "vitest";
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
	],
	question: [
		"Do you want to continue? [Y/n]",
		"Overwrite existing file (y/N)?",
		"rm: remove regular file 'a'?",
		"Are you sure you want to continue connecting (yes/no/[fingerprint])?",
		"Proceed ([y]/n)?",
		"Is this OK? (yes)",
		"package name: (dialtone)",
		"Stage this hunk [y,n,q,a,d,e,?]?",
		"Your name:",
		"Port [8080]:",
		"Press any key to continue",
		"Press ENTER to continue",
	],
	pager: ["--More--", "-- More --(12%)", "--More--(12%)", "(END)", ":", "lines 1-23/80 17%", "file.txt (END)"],
	menu: ["? Pick a fruit", "◆  Which one", "❯ apples"],
	prompt: ["(gdb)", "(Pdb)", ">>>", "...", "In [3]:", "$", "ann@host:~/src$", "root#", "mysql>", "postgres=#", "❯"],
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
	const started = performance.now();
	for (const piece of ["(", "[y/", "a:", "? ", "ing ", "%", "-- more "]) shapeOf(piece.repeat(399 / piece.length));
	expect(performance.now() - started).toBeLessThan(50);
});
