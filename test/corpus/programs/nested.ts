import { type Case, program } from "../case.ts";

export const cases: Case[] = [
	program(
		"script",
		["script", "-q", "-c", "bash --norc --noprofile", "/dev/null"],
		[
			{ truth: "line", shows: /[$#] $/ },
			{ line: "echo hi", truth: "line", shows: /hi\n.*[$#] $/ },
			{ line: "sleep 30", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line" },
			{ line: "read -p 'name? ' n", truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "line" },
		],
	),
	program(
		"script in script",
		["script", "-q", "-c", "script -q -c cat /dev/null", "/dev/null"],
		[{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }],
	),
	program(
		"expect interact",
		["expect", "-c", "spawn -noecho cat; interact"],
		[{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }],
	),
	program(
		"expect works",
		["expect", "-c", "spawn -noecho sh -c {read x; sleep 30}; send hi\\r; set timeout 30; expect never"],
		[{ truth: "busy", forMs: 900 }],
	),
	program(
		"expect_user",
		["expect", "-c", "send_user {name? }; expect_user -re {(.*)\\n}; sleep 30"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
		{ needs: ["expect"] },
	),
	program(
		"tmux",
		({ directory }) => ["tmux", "-f", "/dev/null", "-S", `${directory}/tmux`, "new", "bash --norc --noprofile"],
		[
			{ truth: "line", shows: /[$#] / },
			{ line: "echo hi", truth: "line", shows: /hi\n/ },
			{ line: "sleep 30", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line" },
			{ line: "exit", truth: "ended" },
		],
		{ needs: ["tmux"] },
	),
	program(
		"tmux attach to a server outside",
		async ({ directory, defer }) => {
			const { execFileSync, spawnSync } = await import("node:child_process");
			const server = ["-f", "/dev/null", "-S", `${directory}/tmux`];
			execFileSync("tmux", [...server, "new", "-d", "bash --norc --noprofile"], {
				env: { ...process.env, SHELL: "/bin/bash" },
			});
			// Its last session may have ended it already.
			defer(() => void spawnSync("tmux", [...server, "kill-server"]));
			return ["tmux", ...server, "attach"];
		},
		[
			{ truth: "line", shows: /[$#] / },
			{ line: "sleep 30", truth: "busy", forMs: 1200 },
			{ keys: ["ctrl+c"], truth: "line" },
		],
		{ needs: ["tmux"] },
	),
	program(
		"python pty.spawn",
		["python3", "-c", "import pty; pty.spawn(['sh', '-c', 'printf \"name? \"; read n; sleep 30'])"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"socat to a program",
		["socat", "-", "EXEC:cat,pty,raw,echo=0"],
		[{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }],
		{ known: "the inner terminal is nobody's controlling one, so that it waits is not found; told as listening" },
	),
];
