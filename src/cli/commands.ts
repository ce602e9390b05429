// Every command of the command line. A record declares its words and flags; its implementation
// is imported only when it is used, so that each command starts as fast as node does.

import { ROLES, TOOL_SETS } from "../tools/client.ts";
import type { Command, Flag, Word } from "./command.ts";
import { flagOf } from "./declared-tool.ts";
import { withHost } from "./session-host.ts";
import { TOOL_FIELDS } from "./tool-fields.ts";
import { commandOf, VERBS } from "./tool-verbs.ts";

const SESSION: Word = { name: "SESSION", is: "session" };
const offset = (summary: string): Flag => ({ kind: "integer", value: "OFFSET", summary });
const port: Flag = { kind: "integer", short: "p", default: "17492", summary: "Which port; 0 takes a free one" };
const moment = (summary: string): Flag => ({ kind: "duration", summary });
const tools: Flag = {
	kind: "text",
	multiple: true,
	value: "SET",
	choices: TOOL_SETS,
	summary: "Which tool sets, several separated by commas",
	default: "native",
};

/** Without its default: without the flag it is another command. */
const { default: _, ...namedSignal } = flagOf("signal", TOOL_FIELDS.signal.fields.signal);

const verbs = VERBS.map(commandOf);
const verb = (wanted: string) => verbs.find(({ name }) => name === wanted)!;

const DECLARED: readonly Command[] = [
	...verbs,
	{
		name: "kill",
		summary: "the same as `stop`; with -s only send a signal",
		words: verb("stop").words!,
		flags: { signal: { ...namedSignal, summary: "Send this signal instead of ending it" }, ...verb("stop").flags },
		run: (invocation) => verb(invocation.flags.get("signal") === undefined ? "stop" : "signal").run(invocation),
	},
	{
		name: "attach",
		words: [{ ...SESSION, is: "running session", optional: true }],
		summary: "take over the keyboard from the agent; detach with Ctrl+\\ twice",
		more: "Without SESSION: the last one used. Exits with the program's exit code if it ends, with 0 if you detach.",
		flags: { watch: { kind: "switch", short: "w", summary: "Only watch: agents go on typing, and you do not" } },
		run: async (invocation) => (await import("./attach.ts")).attach(invocation),
	},
	{
		name: "logs",
		words: [SESSION],
		summary: "everything it printed, byte for byte",
		flags: {
			follow: { kind: "switch", short: "f", summary: "Follow until it ends" },
			from: offset("Begin at this byte"),
			tail: { kind: "integer", summary: "Begin with this many lines before the end" },
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
		summary: "delete an ended session and its output",
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
			at: moment("For text and pictures: the screen at this time after the start"),
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
			at: moment("Show only the screen at this time after the start"),
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
			port,
			host: { kind: "text", value: "ADDRESS", summary: "Serve other machines at this address, over TLS" },
			"tls-cert": { kind: "text", value: "FILE", summary: "With --host: the certificate, in PEM" },
			"tls-key": { kind: "text", value: "FILE", summary: "With --host: its key, a file that only you can read" },
			name: {
				kind: "text",
				multiple: true,
				value: "HOST",
				summary: "With --host: a name by which others ask for this machine; no other is served",
			},
		},
		run: async (invocation) => (await import("./daemon-commands.ts")).serve(invocation),
	},
	{
		name: "web",
		summary: "print a link that opens the page in a browser, once",
		more: "Has the daemon serve HTTP from then on. The link is good for 10 minutes, and for one browser.",
		flags: {
			open: { kind: "switch", summary: "Start the browser too" },
			port,
		},
		run: async (invocation) => (await import("./web-commands.ts")).web(invocation),
	},
	{
		name: "share",
		words: [SESSION],
		summary: "print a link that shows one session, and only shows it, for a time",
		more: "The link is good for one browser on this machine. `dialtone token list` shows it, `dialtone token revoke` ends it.",
		flags: {
			minutes: { kind: "number", default: "60", summary: "How long it can be seen" },
			port,
		},
		run: async (invocation) => (await import("./web-commands.ts")).share(invocation),
	},
	{
		name: "approve",
		words: [{ name: "ID", optional: true }],
		summary: "list the calls that wait for a person; with ID approve or deny one",
		flags: {
			deny: { kind: "switch", summary: "Deny it" },
			note: { kind: "text", summary: "Told to the agent" },
		},
		run: async (invocation) => (await import("./approve.ts")).approve(invocation),
	},
	{
		name: "audit",
		summary: "who did what when; --verify checks that nothing was changed or removed",
		more: "Read from the files of this home, without the daemon. What was typed is not in it, only its length and a keyed hash.",
		flags: {
			verify: { kind: "switch", summary: "Check the chain of hashes; exits with 1 where it is broken" },
			since: { kind: "text", value: "TIME", summary: "From then on: a time such as 2h before now, or a date" },
			owner: { kind: "text", value: "NAME", summary: "Only of this owner; * is any text" },
			session: { kind: "text", value: "SESSION", summary: "Only of this session of this machine, by id or name" },
			follow: { kind: "switch", short: "f", summary: "Go on with what is added" },
		},
		run: async (invocation) => (await import("./audit.ts")).audit(invocation),
	},
	{
		name: "token",
		words: [
			{ name: "create|list|revoke", is: ["create", "list", "revoke"] },
			{ name: "NAME", optional: true },
		],
		summary: "tokens for HTTP",
		more: "A token is for all sessions unless it is limited to one, to those of an owner, or to those of a conversation.",
		flags: {
			role: { kind: "choice", choices: ROLES, default: "drive", summary: "What it may do" },
			"read-only": { kind: "switch", summary: "The same as --role view" },
			session: { kind: "text", value: "SESSION", summary: "Only this session" },
			owner: { kind: "text", value: "OWNER", summary: "Only sessions of this owner; `*` is any text" },
			parent: { kind: "text", value: "ID", summary: "Only sessions of this conversation" },
			expires: { kind: "duration", summary: "It ends after this: 30m, 12h, 7d" },
		},
		run: async (invocation) => (await import("./daemon-commands.ts")).token(invocation),
	},
	{
		name: "secrets",
		words: [
			{ name: "list|test", is: ["list", "test"], optional: true },
			{ name: "NAME", optional: true },
		],
		summary: "the secrets that can be typed by name (`send --secret`); never their values",
		more: "They are named in policy.json. `test NAME` says whether its value can be read.",
		run: async (invocation) => (await import("./secret-commands.ts")).secrets(invocation),
	},
	{
		name: "join",
		words: [{ name: "SERVER", optional: true, rest: "words" }],
		summary: "make this machine a member of a fleet: its sessions and those of the others are used alike",
		more: "SERVER is one of NATS, such as nats://host:4222; the credentials of `dialtone fleet init` name theirs. Daemons that follow join again; `dialtone fleet leave` ends it.",
		flags: {
			creds: { kind: "text", value: "FILE", summary: "The key with which it joins: a file that only you can read" },
			as: { kind: "text", value: "HOST", summary: "What it is called there (default: the machine's name)" },
			label: { kind: "pair", multiple: true, summary: "What it is fit for, for `start --placement`: gpu=a100" },
		},
		run: async (invocation) => (await import("./fleet-commands.ts")).join(invocation),
	},
	{
		name: "fleet",
		words: [
			{
				name: "ACTION",
				is: ["status", "hosts", "ls", "leave", "forget", "init", "user", "tenant", "leaf"],
			},
			{ name: "DIR|HOST", optional: true },
			{ name: "NAME", optional: true },
		],
		summary: "the machines that have joined; `init DIR` writes the servers' configuration and credentials",
		more: "ACTION is status, hosts, ls, leave (sessions keep running, and others do not list them any more), forget, init, user, tenant or leaf. `forget HOST` removes what is listed of a machine that is gone. `user DIR NAME` adds a user (--remove takes its rights), `tenant DIR NAME` a tenant; the servers read it on `nats-server --signal reload`. `leaf DIR NAME=HOST:PORT` adds a server of a site, for one tenant, that connects to the others.",
		flags: {
			tenant: {
				kind: "text",
				multiple: true,
				value: "NAME",
				summary: "With init: each is apart from the others; with user and leaf: whose",
				default: "main",
			},
			node: {
				kind: "text",
				multiple: true,
				value: "NAME=HOST:PORT",
				summary: "With init: a server of the cluster",
				default: "nats1=127.0.0.1:4222",
			},
			role: { kind: "choice", choices: ["host", ...ROLES], default: "drive", summary: "With user: what it may do" },
			owner: { kind: "text", value: "OWNER", summary: "With user: only this owner's sessions" },
			as: { kind: "text", value: "HOST", summary: "With user: it may serve as this host; `*` is any" },
			remove: { kind: "switch", summary: "With user: take its rights" },
		},
		run: async (invocation) => (await import("./fleet-commands.ts")).fleet(invocation),
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

export const COMMANDS: readonly Command[] = DECLARED.map(withHost);
