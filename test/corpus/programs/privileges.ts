import { SSHD_NEEDS, startSshd } from "../../servers/sshd.ts";
import { type Case, program } from "../case.ts";

export const cases: Case[] = [
	program(
		"su, as a normal user",
		["su"],
		[{ truth: "secret", shows: /Password: $/ }, { line: "wrong", truth: "busy", forMs: 800 }, { truth: "ended" }],
		{ user: "normal" },
	),
	program(
		"sudo, as a normal user",
		["sudo", "-k", "true"],
		[
			{ truth: "secret", shows: /password for .*: $/ },
			{ line: "wrong", truth: "busy", forMs: 500 },
			{ truth: "secret", shows: /try again[\s\S]*password for .*: $/ },
		],
		{ user: "normal" },
	),
	program(
		"passwd, as a normal user",
		["passwd"],
		[
			{ truth: "secret", shows: /Current password: $/ },
			{ line: "wrong", truth: "busy", forMs: 300 },
		],
		{ user: "normal" },
	),
	program(
		"passwd, as root",
		["passwd"],
		[
			{ truth: "secret", shows: /New password: $/ },
			{ line: "a-password-that-is-not-set", truth: "secret", shows: /Retype new password: $/ },
			{ line: "another-one", truth: "ended" },
		],
		{ user: "root" },
	),
	program(
		"su to a user",
		["su", "-s", "/bin/sh", "nobody"],
		[
			{ truth: "line", shows: /\$ $/ },
			{ line: "sleep 30", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line", shows: /\$ $/ },
		],
		{ user: "root" },
	),
	program(
		"su -c",
		["su", "-s", "/bin/sh", "-c", "cat", "nobody"],
		[{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }],
		{ user: "root" },
	),
	program("su -c sleep", ["su", "-s", "/bin/sh", "-c", "sleep 30", "nobody"], [{ truth: "busy" }], { user: "root" }),
	program(
		"sudo within",
		["sudo", "sh", "-c", "printf 'name? '; read n; sleep 30"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
		{ user: "root" },
	),
	program(
		"sudo with a terminal of its own",
		["sudo", "sh", "-c", "printf 'name? '; read n; sleep 30"],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy" },
		],
		{
			user: "root",
			start: ["sudo", "-u", "nobody", "sh", "-c", "printf 'name? '; read n; sleep 30"],
		},
	),
	program(
		"ssh",
		async ({ share }) => ["ssh", ...(await share("sshd", startSshd)).arguments],
		[
			{ truth: "line", shows: /continue connecting.*\? $/ },
			{ line: "yes", truth: "secret", shows: /password: $/ },
			{ line: "open-sesame-42", truth: "line", shows: /\$ $/ },
			{ line: "echo far away", truth: "line", shows: /far away\n.*\$ $/ },
			{ line: "sleep 2", truth: "busy", forMs: 1200 },
			{ truth: "line", shows: /\$ $/ },
			{ line: "exit", truth: "ended" },
		],
		{ needs: SSHD_NEEDS, user: "root" },
	),
	program(
		"setsid -w",
		["setsid", "-w", "cat"],
		[{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }],
	),
];
