import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program } from "../case.ts";

const identity = {
	GIT_AUTHOR_NAME: "Ann",
	GIT_AUTHOR_EMAIL: "ann@example.org",
	GIT_COMMITTER_NAME: "Ann",
	GIT_COMMITTER_EMAIL: "ann@example.org",
	GIT_EDITOR: "vim -u NONE -N --cmd 'set showmode'",
	PAGER: "less",
	LESS: "R",
};

const inRepository =
	(...argv: string[]) =>
	({ directory }: Place) => {
		const git = (...args: string[]) =>
			execFileSync("git", args, { cwd: directory, env: { ...process.env, ...identity }, stdio: "pipe" });
		git("init", "-q");
		for (const n of [1, 2, 3]) {
			writeFileSync(join(directory, "a.txt"), `${n}\n`.repeat(40));
			git("add", ".");
			git("commit", "-qm", `commit ${n}`);
		}
		writeFileSync(join(directory, "a.txt"), "changed\n".repeat(40));
		return ["git", ...argv];
	};

const more: Partial<Case> = { env: identity, needs: ["git", "vim", "less"] };

export const cases: Case[] = [
	program(
		"git add -p",
		inRepository("add", "-p"),
		[
			{ truth: "line", shows: /Stage this hunk.*\? $/ },
			{ line: "?", truth: "line", shows: /Stage this hunk.*\? $/ },
			{ line: "y", truth: "ended" },
		],
		more,
	),
	program(
		"git add -p, single keys",
		inRepository("-c", "interactive.singleKey=true", "add", "-p"),
		[
			{ truth: "key", shows: /Stage this hunk.*\? $/ },
			{ text: "y", truth: "ended" },
		],
		more,
	),
	program(
		"git commit with an editor",
		inRepository("commit", "-a"),
		[
			{ truth: "screen", shows: /Please enter the commit message/ },
			{ keys: ["i"], truth: "screen", shows: /INSERT/ },
			{ text: "Change it", truth: "screen", shows: /Change it/ },
			{ keys: ["esc"], truth: "screen" },
			{ line: ":wq", truth: "ended" },
		],
		more,
	),
	program(
		"git rebase -i",
		inRepository("rebase", "-i", "--autostash", "HEAD~2"),
		[
			{ truth: "screen", shows: /pick/ },
			{ line: ":q", truth: "ended" },
		],
		more,
	),
	program(
		"git log in a pager",
		inRepository("log", "-p"),
		[
			{ truth: "screen", shows: /commit 3/ },
			{ text: " ", truth: "screen" },
			{ text: "q", truth: "ended" },
		],
		more,
	),
	program(
		"git clean -i",
		inRepository("-c", "clean.requireForce=false", "clean", "-i", "-x"),
		[{ truth: "ended" }],
		more,
	),
];
