// Every command of the command line. A record names its words; what it does is
// imported only when the word is said, so that each command starts as fast as node does.

import type { Command, Flag } from "./command.ts";

const timeout: Flag = { type: "string", short: "t", value: "30s", summary: "come back after this time at the latest" };
const cwd: Flag = { type: "string", value: "DIR", summary: "where it runs (default: here)" };
const tools: Flag = {
	type: "string",
	multiple: true,
	value: "SET",
	choices: ["native", "exec", "codex", "pty", "terminal"],
	summary: "which tool sets, separated by commas (default: native)",
};
const until: Record<string, Flag> = {
	until: { type: "string", short: "u", value: "TEXT", summary: "come back when this text appears" },
	pattern: { type: "string", value: "REGEX", summary: "come back when this pattern appears" },
	gone: { type: "string", value: "TEXT", summary: "come back when this text is no longer on the screen" },
	still: { type: "string", value: "2s", summary: "come back when nothing was printed for this time" },
	port: { type: "string", value: "N", summary: "come back when this TCP port is open" },
	only: { type: "boolean", summary: "do not come back just because the program waits" },
	timeout,
};

export const COMMANDS: readonly Command[] = [
	{
		name: "start",
		usage: "[--] COMMAND [ARG…]",
		summary: "start a program; comes back when it waits for you",
		takesCommand: true,
		more: "One word is a command line for the shell, several are a program and its arguments.",
		flags: {
			name: { type: "string", short: "n", value: "NAME", summary: "what to call it (default: after the program)" },
			cwd,
			env: { type: "string", short: "e", multiple: true, value: "KEY=VALUE", summary: "add to its environment" },
			cols: { type: "string", value: "N", summary: "width of its terminal" },
			rows: { type: "string", value: "N", summary: "height of its terminal" },
			keep: { type: "boolean", summary: "never end it for being idle" },
			"if-exists": {
				type: "string",
				value: "WHAT",
				choices: ["fail", "use", "replace"],
				summary: "when the name is taken",
			},
			...until,
		},
		run: async (it) => (await import("./session-commands.ts")).start(it),
	},
	{
		name: "send",
		usage: "SESSION [TEXT… | -]",
		summary: "type a line or press keys; comes back with the answer",
		first: "session",
		more: "Text is entered with Enter unless --no-submit is given or keys follow. `-` takes the text from stdin.",
		flags: {
			key: { type: "string", short: "k", multiple: true, value: "KEY", summary: "press a key: enter, ctrl+c, up, f5" },
			submit: { type: "boolean", summary: "press Enter at the end also where keys were given" },
			"no-submit": { type: "boolean", short: "n", summary: "do not press Enter" },
			paste: { type: "boolean", summary: "as a paste (bracketed where the program asked for it)" },
			"if-offset": { type: "string", value: "N", summary: "refuse if there is output beyond this offset" },
			id: { type: "string", value: "ID", summary: "a repeated call with this id is not typed twice" },
			...until,
		},
		run: async (it) => (await import("./session-commands.ts")).send(it),
	},
	{
		name: "read",
		usage: "SESSION",
		summary: "what is new since you last looked",
		first: "session",
		flags: {
			view: {
				type: "string",
				short: "v",
				value: "VIEW",
				choices: ["new", "screen", "lines", "raw"],
				summary: "new, screen, lines or raw",
			},
			lines: { type: "string", short: "l", value: "N", summary: "how many lines" },
			from: { type: "string", value: "OFFSET", summary: "from this offset" },
			to: { type: "string", value: "OFFSET", summary: "to this offset" },
			search: { type: "string", value: "TEXT", summary: "only lines with this text" },
		},
		run: async (it) => (await import("./session-commands.ts")).read(it),
	},
	{
		name: "screen",
		usage: "SESSION",
		summary: "what a person would see now",
		first: "session",
		run: async (it) => (await import("./session-commands.ts")).screen(it),
	},
	{
		name: "wait",
		usage: "SESSION",
		summary: "wait until it is your turn, it ended, or a condition holds",
		first: "session",
		flags: until,
		run: async (it) => (await import("./session-commands.ts")).wait(it),
	},
	{
		name: "run",
		usage: "[--] COMMAND…",
		summary: "run a command in a shell that keeps cd and exports; its exit code is ours",
		takesCommand: true,
		flags: {
			shell: { type: "string", short: "s", value: "NAME", summary: "which shell (default: main)" },
			cwd,
			separate: { type: "boolean", summary: "keep stdout and stderr apart" },
			timeout,
		},
		run: async (it) => (await import("./session-commands.ts")).run(it),
	},
	{
		name: "ls",
		usage: "",
		summary: "list the sessions",
		flags: { status: { type: "string", value: "STATUS", summary: "only those: running, succeeded, failed, …" } },
		run: async (it) => (await import("./session-commands.ts")).list(it),
	},
	{
		name: "attach",
		usage: "SESSION",
		summary: "take the keyboard yourself; leave with Ctrl+\\ twice",
		first: "session",
		more: "Leaves with the program's exit code if it ends, with 0 if you detach.",
		flags: { "read-only": { type: "boolean", short: "r", summary: "watch without typing" } },
		run: async (it) => (await import("./attach.ts")).attach(it),
	},
	{
		name: "logs",
		usage: "SESSION",
		summary: "everything it printed, byte for byte",
		first: "session",
		flags: {
			follow: { type: "boolean", short: "f", summary: "go on until it ends" },
			from: { type: "string", value: "OFFSET", summary: "from this offset" },
		},
		run: async (it) => (await import("./stream-commands.ts")).logs(it),
	},
	{
		name: "events",
		usage: "",
		summary: "what happens to all sessions, as it happens",
		flags: { after: { type: "string", value: "SEQ", summary: "begin after this event" } },
		run: async (it) => (await import("./stream-commands.ts")).events(it),
	},
	{
		name: "resize",
		usage: "SESSION COLSxROWS",
		summary: "change the size of its terminal",
		first: "session",
		run: async (it) => (await import("./session-commands.ts")).resize(it),
	},
	{
		name: "kill",
		usage: "SESSION",
		summary: "end it with everything it started, or send a signal",
		first: "session",
		flags: {
			signal: {
				type: "string",
				short: "s",
				value: "NAME",
				choices: ["INT", "TERM", "KILL", "HUP", "TSTP", "CONT"],
				summary: "only send this signal",
			},
			force: { type: "boolean", short: "f", summary: "KILL at once" },
		},
		run: async (it) => (await import("./session-commands.ts")).kill(it),
	},
	{
		name: "rm",
		usage: "SESSION",
		summary: "forget an ended session with its output",
		first: "session",
		flags: { force: { type: "boolean", short: "f", summary: "end it first" } },
		run: async (it) => (await import("./session-commands.ts")).remove(it),
	},
	{
		name: "export",
		usage: "SESSION",
		summary: "write its recording: asciicast, script, text or picture",
		first: "session",
		flags: {
			format: {
				type: "string",
				short: "f",
				value: "FORMAT",
				choices: ["cast", "cast2", "script", "text", "svg"],
				summary: "cast (asciicast v3), cast2 (v2), script, text or svg",
			},
			output: { type: "string", short: "o", value: "FILE", summary: "where to (default: stdout)" },
		},
		run: async (it) => (await import("./recordings.ts")).exportRecording(it),
	},
	{
		name: "replay",
		usage: "SESSION",
		summary: "play its output back as it happened",
		first: "session",
		flags: {
			speed: { type: "string", value: "2", summary: "how many times as fast" },
			"idle-limit": { type: "string", value: "2s", summary: "shorten longer pauses to this" },
		},
		run: async (it) => (await import("./recordings.ts")).replay(it),
	},
	{
		name: "call",
		usage: "TOOL [JSON | -]",
		summary: "call any tool; prints its facts as one JSON object",
		flags: { text: { type: "boolean", summary: "print what a model would read instead" } },
		run: async (it) => (await import("./session-commands.ts")).call(it),
	},
	{
		name: "tools",
		usage: "",
		summary: "list the tools an agent has",
		flags: { tools },
		run: async (it) => (await import("./session-commands.ts")).tools(it),
	},
	{
		name: "mcp",
		usage: "",
		summary: "be an MCP server on stdin and stdout; --help shows how to configure hosts",
		flags: { tools },
		run: async (it) => (await import("./daemon-commands.ts")).mcp(it),
	},
	{
		name: "serve",
		usage: "",
		summary: "HTTP, WebSocket and MCP on a loopback port",
		flags: {
			foreground: { type: "boolean", short: "f", summary: "run the daemon in this process until Ctrl+C" },
			port: { type: "string", short: "p", value: "N", summary: "which port (default 17492; 0 takes a free one)" },
		},
		run: async (it) => (await import("./daemon-commands.ts")).serve(it),
	},
	{
		name: "token",
		usage: "create [NAME] | list | revoke ID",
		summary: "tokens for HTTP",
		first: ["create", "list", "revoke"],
		flags: { "read-only": { type: "boolean", summary: "may look, may not type" } },
		run: async (it) => (await import("./daemon-commands.ts")).token(it),
	},
	{
		name: "daemon",
		usage: "status | stop | restart | run",
		summary: "the process that keeps the sessions in view; they go on without it",
		first: ["status", "stop", "restart", "run"],
		flags: { sessions: { type: "boolean", summary: "stop: end the sessions too" } },
		run: async (it) => (await import("./daemon-commands.ts")).daemon(it),
	},
	{
		name: "doctor",
		usage: "",
		summary: "check this installation",
		run: async (it) => (await import("./doctor.ts")).doctor(it),
	},
	{
		name: "completion",
		usage: "bash | zsh | fish",
		summary: "print a completion script",
		first: ["bash", "zsh", "fish"],
		run: async (it) => (await import("./completion.ts")).completion(it, COMMANDS),
	},
	{
		name: "agent-help",
		usage: "",
		summary: "a page for a model that has only a shell",
		run: async (it) => (await import("./agent-help.ts")).agentHelp(it),
	},
	{
		name: "demo",
		usage: "",
		summary: "watch a conversation with real programs",
		flags: { fast: { type: "boolean", summary: "do not pause for reading" } },
		run: async (it) => (await import("./demo.ts")).demo(it),
	},
	{
		name: "help",
		usage: "[COMMAND | exit-codes]",
		summary: "this help",
		run: async (it) => {
			const { exitCodesHelp, generalHelp, commandHelp } = await import("./help.ts");
			const command = COMMANDS.find(({ name }) => name === it.words[0]);
			if (it.words[0] === "exit-codes") it.io.out(exitCodesHelp());
			else it.io.out(command ? commandHelp(command) : generalHelp(COMMANDS, it.dependencies.version));
			return 0;
		},
	},
	{
		name: "version",
		usage: "",
		summary: "which Dialtone this is",
		run: async ({ io, json, dependencies }) => {
			io.out(json ? `${JSON.stringify({ version: dependencies.version })}\n` : `${dependencies.version}\n`);
			return 0;
		},
	},
	{
		// For the completion scripts: the names of the sessions of a daemon that runs.
		name: "__sessions",
		usage: "",
		summary: "",
		hidden: true,
		run: async ({ io, dependencies }) => {
			await using client = await dependencies.peek();
			const listed = await client?.call("list", {});
			for (const { name } of listed?.facts.sessions ?? []) io.out(`${name}\n`);
			return 0;
		},
	},
];
