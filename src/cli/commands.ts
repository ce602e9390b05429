// Every command of the command line. A record declares its flags; its implementation is
// imported only when it is used, so that each command starts as fast as node does.

import type { Command, Flag } from "./command.ts";

const timeout: Flag = { type: "string", short: "t", value: "30s", summary: "return after this time at the latest" };
const cwd: Flag = { type: "string", value: "DIR", summary: "where it runs (default: here)" };
const tools: Flag = {
	type: "string",
	multiple: true,
	value: "SET",
	choices: ["native", "exec", "codex", "pty", "terminal"],
	summary: "which tool sets, separated by commas (default: native)",
};
const until: Record<string, Flag> = {
	until: { type: "string", short: "u", value: "TEXT", summary: "return when this text appears" },
	pattern: { type: "string", value: "REGEX", summary: "return when this pattern appears" },
	gone: { type: "string", value: "TEXT", summary: "return when this text is no longer on the screen" },
	still: { type: "string", value: "2s", summary: "return when there was no output for this time" },
	port: { type: "string", value: "N", summary: "return when this TCP port is open" },
	only: { type: "boolean", summary: "do not return just because the program waits" },
	timeout,
};

export const COMMANDS: readonly Command[] = [
	{
		name: "start",
		usage: "[--] COMMAND [ARG…]",
		summary: "start a program; returns when it waits for you",
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
		run: async (invocation) => (await import("./session-commands.ts")).start(invocation),
	},
	{
		name: "send",
		usage: "SESSION [TEXT… | -]",
		summary: "type a line or press keys; returns the answer",
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
		run: async (invocation) => (await import("./session-commands.ts")).send(invocation),
	},
	{
		name: "read",
		usage: "SESSION",
		summary: "what is new since your last read",
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
		run: async (invocation) => (await import("./session-commands.ts")).read(invocation),
	},
	{
		name: "screen",
		usage: "SESSION",
		summary: "what a person would see now",
		first: "session",
		run: async (invocation) => (await import("./session-commands.ts")).screen(invocation),
	},
	{
		name: "wait",
		usage: "SESSION",
		summary: "wait until it is your turn, it ended, or a condition holds",
		first: "session",
		flags: until,
		run: async (invocation) => (await import("./session-commands.ts")).wait(invocation),
	},
	{
		name: "run",
		usage: "[--] COMMAND…",
		summary: "run a command in a shell that keeps cd and exports; exits with its code",
		takesCommand: true,
		flags: {
			shell: { type: "string", short: "s", value: "NAME", summary: "which shell (default: main)" },
			cwd,
			separate: { type: "boolean", summary: "keep stdout and stderr apart" },
			timeout,
		},
		run: async (invocation) => (await import("./session-commands.ts")).run(invocation),
	},
	{
		name: "ls",
		usage: "",
		summary: "list the sessions",
		flags: { status: { type: "string", value: "STATUS", summary: "only those: running, succeeded, failed, …" } },
		run: async (invocation) => (await import("./session-commands.ts")).list(invocation),
	},
	{
		name: "attach",
		usage: "SESSION",
		summary: "take over the keyboard; detach with Ctrl+\\ twice",
		first: "session",
		more: "Exits with the program's exit code if it ends, with 0 if you detach.",
		flags: { "read-only": { type: "boolean", short: "r", summary: "watch without typing" } },
		run: async (invocation) => (await import("./attach.ts")).attach(invocation),
	},
	{
		name: "logs",
		usage: "SESSION",
		summary: "everything it printed, byte for byte",
		first: "session",
		flags: {
			follow: { type: "boolean", short: "f", summary: "follow until it ends" },
			from: { type: "string", value: "OFFSET", summary: "from this offset" },
		},
		run: async (invocation) => (await import("./stream-commands.ts")).logs(invocation),
	},
	{
		name: "events",
		usage: "",
		summary: "the events of all sessions, live",
		flags: { after: { type: "string", value: "SEQ", summary: "begin after this event" } },
		run: async (invocation) => (await import("./stream-commands.ts")).events(invocation),
	},
	{
		name: "resize",
		usage: "SESSION COLSxROWS",
		summary: "change the size of its terminal",
		first: "session",
		run: async (invocation) => (await import("./session-commands.ts")).resize(invocation),
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
		run: async (invocation) => (await import("./session-commands.ts")).kill(invocation),
	},
	{
		name: "rm",
		usage: "SESSION",
		summary: "forget an ended session with its output",
		first: "session",
		flags: { force: { type: "boolean", short: "f", summary: "end it first" } },
		run: async (invocation) => (await import("./session-commands.ts")).remove(invocation),
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
			output: { type: "string", short: "o", value: "FILE", summary: "write to this file (default: stdout)" },
		},
		run: async (invocation) => (await import("./recordings.ts")).exportRecording(invocation),
	},
	{
		name: "replay",
		usage: "SESSION",
		summary: "play its output back at its original speed",
		first: "session",
		flags: {
			speed: { type: "string", value: "2", summary: "playback speed, as a factor" },
			"idle-limit": { type: "string", value: "2s", summary: "shorten longer pauses to this" },
		},
		run: async (invocation) => (await import("./recordings.ts")).replay(invocation),
	},
	{
		name: "call",
		usage: "TOOL [JSON | -]",
		summary: "call any tool; prints its facts as one JSON object",
		flags: { text: { type: "boolean", summary: "print what a model would read instead" } },
		run: async (invocation) => (await import("./session-commands.ts")).call(invocation),
	},
	{
		name: "tools",
		usage: "",
		summary: "list the tools an agent has",
		flags: { tools },
		run: async (invocation) => (await import("./session-commands.ts")).tools(invocation),
	},
	{
		name: "mcp",
		usage: "",
		summary: "run an MCP server on stdin and stdout; --help shows how to configure hosts",
		flags: { tools },
		run: async (invocation) => (await import("./daemon-commands.ts")).mcp(invocation),
	},
	{
		name: "serve",
		usage: "",
		summary: "HTTP, WebSocket and MCP on a loopback port",
		flags: {
			foreground: { type: "boolean", short: "f", summary: "run the daemon in this process until Ctrl+C" },
			port: { type: "string", short: "p", value: "N", summary: "which port (default 17492; 0 takes a free one)" },
		},
		run: async (invocation) => (await import("./daemon-commands.ts")).serve(invocation),
	},
	{
		name: "token",
		usage: "create [NAME] | list | revoke ID",
		summary: "tokens for HTTP",
		first: ["create", "list", "revoke"],
		flags: { "read-only": { type: "boolean", summary: "may read, but not type" } },
		run: async (invocation) => (await import("./daemon-commands.ts")).token(invocation),
	},
	{
		name: "daemon",
		usage: "status | stop | restart | run",
		summary: "the process that serves the sessions; they keep running without it",
		first: ["status", "stop", "restart", "run"],
		flags: { sessions: { type: "boolean", summary: "stop: end the sessions too" } },
		run: async (invocation) => (await import("./daemon-commands.ts")).daemon(invocation),
	},
	{
		name: "doctor",
		usage: "",
		summary: "check this installation",
		run: async (invocation) => (await import("./doctor.ts")).doctor(invocation),
	},
	{
		name: "completion",
		usage: "bash | zsh | fish",
		summary: "print a completion script",
		first: ["bash", "zsh", "fish"],
		run: async (invocation) => (await import("./completion.ts")).completion(invocation, COMMANDS),
	},
	{
		name: "agent-help",
		usage: "",
		summary: "a page for a model that has only a shell",
		run: async (invocation) => (await import("./agent-help.ts")).agentHelp(invocation),
	},
	{
		name: "demo",
		usage: "",
		summary: "watch a conversation with real programs",
		flags: { fast: { type: "boolean", summary: "do not pause for reading" } },
		run: async (invocation) => (await import("./demo.ts")).demo(invocation),
	},
	{
		name: "help",
		usage: "[COMMAND | exit-codes]",
		summary: "this help",
		run: async (invocation) => {
			const { exitCodesHelp, generalHelp, commandHelp } = await import("./help.ts");
			const command = COMMANDS.find(({ name }) => name === invocation.words[0]);
			if (invocation.words[0] === "exit-codes") invocation.io.out(exitCodesHelp());
			else invocation.io.out(command ? commandHelp(command) : generalHelp(COMMANDS, invocation.dependencies.version));
			return 0;
		},
	},
	{
		name: "version",
		usage: "",
		summary: "the version of Dialtone",
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
