// Every command of the command line. A record declares its words and flags; its implementation
// is imported only when it is used, so that each command starts as fast as node does.

import { TOOL_SETS } from "../tools/client.ts";
import type { Command, Flag, Word } from "./command.ts";
import { flagOf } from "./declared-tool.ts";
import { TOOL_FIELDS } from "./tool-fields.ts";
import { commandOf, VERBS } from "./tool-verbs.ts";

const SESSION: Word = { name: "SESSION", is: "session" };
const offset = (summary: string): Flag => ({ kind: "integer", value: "OFFSET", summary });
const tools: Flag = {
	kind: "text",
	multiple: true,
	value: "SET",
	choices: TOOL_SETS,
	summary: "Which tool sets, several separated by commas",
	default: "native",
};

const verbs = VERBS.map(commandOf);
const verb = (wanted: string) => verbs.find(({ name }) => name === wanted)!;

export const COMMANDS: readonly Command[] = [
	...verbs,
	{
		name: "kill",
		summary: "the same as `stop`; with -s only send a signal",
		words: verb("stop").words!,
		flags: { signal: flagOf("signal", TOOL_FIELDS.signal.fields.signal), ...verb("stop").flags },
		run: (invocation) => verb(invocation.flags.get("signal") === undefined ? "stop" : "signal").run(invocation),
	},
	{
		name: "attach",
		words: [{ ...SESSION, is: "running session" }],
		summary: "take over the keyboard; detach with Ctrl+\\ twice",
		more: "Exits with the program's exit code if it ends, with 0 if you detach.",
		flags: { "read-only": { kind: "switch", short: "r", summary: "Watch without typing" } },
		run: async (invocation) => (await import("./attach.ts")).attach(invocation),
	},
	{
		name: "logs",
		words: [SESSION],
		summary: "everything it printed, byte for byte",
		flags: {
			follow: { kind: "switch", short: "f", summary: "Follow until it ends" },
			from: offset("Begin at this byte"),
		},
		run: async (invocation) => (await import("./stream-commands.ts")).logs(invocation),
	},
	{
		name: "events",
		summary: "the events of all sessions, live",
		flags: { after: { kind: "integer", value: "SEQ", summary: "Begin after this event" } },
		run: async (invocation) => (await import("./stream-commands.ts")).events(invocation),
	},
	{
		name: "rm",
		words: [{ ...SESSION, is: "ended session", rest: "each" }],
		summary: "forget an ended session with its output",
		flags: { force: { kind: "switch", short: "f", summary: "End it first" } },
		run: async (invocation) => (await import("./session-commands.ts")).remove(invocation),
	},
	{
		name: "export",
		words: [SESSION],
		summary: "write its recording: asciicast, script, text or picture",
		flags: {
			format: {
				kind: "choice",
				short: "f",
				choices: ["cast", "cast2", "script", "text", "svg", "png"],
				default: "cast",
				summary: "asciicast v3, v2, the two files of script(1), text, or a picture of the screen (svg, png)",
			},
			output: { kind: "text", short: "o", value: "FILE", summary: "Write to this file (default: stdout)" },
		},
		run: async (invocation) => (await import("./recordings.ts")).exportRecording(invocation),
	},
	{
		name: "replay",
		words: [SESSION],
		summary: "play its output back at its original speed",
		flags: {
			speed: { kind: "number", value: "FACTOR", default: "1", summary: "Playback speed" },
			"idle-limit": { kind: "duration", default: "2s", summary: "Shorten longer pauses to this" },
		},
		run: async (invocation) => (await import("./recordings.ts")).replay(invocation),
	},
	{
		name: "call",
		words: [
			{ name: "TOOL", is: Object.keys(TOOL_FIELDS) },
			{ name: "JSON", optional: true },
		],
		summary: "call any tool; prints its facts as one JSON object",
		flags: { text: { kind: "switch", summary: "Print what a model would read instead" } },
		run: async (invocation) => (await import("./session-commands.ts")).call(invocation),
	},
	{
		name: "tools",
		summary: "list the tools an agent has",
		flags: { tools },
		run: async (invocation) => (await import("./session-commands.ts")).tools(invocation),
	},
	{
		name: "mcp",
		summary: "run an MCP server on stdin and stdout; --help shows how to configure hosts",
		flags: { tools },
		run: async (invocation) => (await import("./daemon-commands.ts")).mcp(invocation),
	},
	{
		name: "serve",
		summary: "HTTP, WebSocket and MCP on a loopback port",
		flags: {
			foreground: { kind: "switch", short: "f", summary: "Run the daemon in this process until Ctrl+C" },
			port: { kind: "integer", short: "p", default: "17492", summary: "Which port; 0 takes a free one" },
		},
		run: async (invocation) => (await import("./daemon-commands.ts")).serve(invocation),
	},
	{
		name: "token",
		words: [
			{ name: "create|list|revoke", is: ["create", "list", "revoke"] },
			{ name: "NAME", optional: true },
		],
		summary: "tokens for HTTP",
		flags: { "read-only": { kind: "switch", summary: "May read, but not type" } },
		run: async (invocation) => (await import("./daemon-commands.ts")).token(invocation),
	},
	{
		name: "daemon",
		words: [{ name: "status|stop|restart|run", is: ["status", "stop", "restart", "run"] }],
		summary: "the process that serves the sessions; they keep running without it",
		flags: { sessions: { kind: "switch", summary: "With `stop`: end the sessions too" } },
		run: async (invocation) => (await import("./daemon-commands.ts")).daemon(invocation),
	},
	{
		name: "doctor",
		summary: "check this installation",
		run: async (invocation) => (await import("./doctor.ts")).doctor(invocation),
	},
	{
		name: "completion",
		words: [{ name: "bash|zsh|fish", is: ["bash", "zsh", "fish"] }],
		summary: "print a completion script",
		run: async (invocation) => (await import("./completion.ts")).completion(invocation),
	},
	{
		name: "agent-help",
		summary: "a page for a model that has only a shell",
		run: async (invocation) => (await import("./agent-help.ts")).agentHelp(invocation),
	},
	{
		name: "demo",
		summary: "watch a conversation with real programs",
		flags: { fast: { kind: "switch", summary: "Do not pause for reading" } },
		run: async (invocation) => (await import("./demo.ts")).demo(invocation),
	},
	{
		name: "help",
		words: [{ name: "COMMAND", optional: true, is: "verb" }],
		summary: "this help, or that of a command; `help exit-codes` lists the exit codes, `help options` the options",
		run: async (invocation) => (await import("./help.ts")).help(invocation, COMMANDS),
	},
	{
		name: "version",
		summary: "the version of Dialtone",
		run: async ({ io, json, dependencies }) => {
			io.out(json ? `${JSON.stringify({ version: dependencies.version })}\n` : `${dependencies.version}\n`);
			return 0;
		},
	},
	{
		// For the completion scripts.
		name: "__complete",
		summary: "",
		words: [{ name: "WORD", optional: true, rest: "command" }],
		hidden: true,
		run: async (invocation) => (await import("./completion.ts")).complete(invocation, COMMANDS),
	},
];
