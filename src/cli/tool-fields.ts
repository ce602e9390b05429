// Written by `npm run generate` from the declarations in src/tools.

import type { DeclaredTool } from "./declared-tool.ts";

export const TOOL_FIELDS = {
	start: {
		title: "Start a program",
		fields: {
			command: { type: "string", about: "Shell command line" },
			argv: { type: "strings", about: "Program and arguments, instead of `command`, with no shell between" },
			again: {
				type: "string",
				about: "An ended session: start what it ran once more, in its directory, under its name",
			},
			name: { type: "string", about: "Short name to call it by" },
			cwd: { type: "string" },
			env: { type: "record", about: "Added to what it inherits" },
			inherit: {
				type: "string",
				about: "Of your environment: `safe` (default) is all but credentials",
				choices: ["none", "safe", "all"],
			},
			cols: { type: "integer", least: 2 },
			rows: { type: "integer", least: 1 },
			"until.text": { type: "string", about: "Appears in new output" },
			"until.pattern": { type: "string", about: "Regular expression on new output" },
			"until.gone": { type: "string", about: "Leaves the screen; must have been there" },
			"until.stillMs": { type: "integer", about: "No output for this long", least: 1 },
			"until.port": { type: "integer", about: "TCP port it listens on", least: 1 },
			"until.only": {
				type: "boolean",
				about: "With `send` and `start`: do not return because the program waits for input",
			},
			timeoutMs: { type: "integer", about: "Return by then; the program goes on", default: 30000, least: 0 },
			keep: { type: "boolean", about: "Never end it for being idle" },
			"limits.cpuSeconds": { type: "integer", least: 1 },
			"limits.memoryBytes": { type: "integer", least: 1 },
			"limits.processes": { type: "integer", least: 1 },
			"limits.openFiles": { type: "integer", least: 1 },
			"limits.fileBytes": { type: "integer", least: 1 },
			"limits.wallMs": { type: "integer", least: 1 },
			ifExists: {
				type: "string",
				about: "When a running session has this name: refuse, use it, or end it first",
				choices: ["fail", "use", "replace"],
				default: "fail",
			},
			parent: { type: "string", about: "The conversation it belongs to, if your host does not set it" },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	send: {
		title: "Type into a program",
		fields: {
			session: { type: "string", about: "Name or id" },
			text: { type: "string" },
			submit: { type: "boolean", about: "Press Enter", default: false },
			keys: { type: "strings", about: "enter tab esc up pageup f1 ctrl+c alt+x shift+tab … or characters" },
			paste: { type: "string", about: "Many lines as one paste" },
			force: { type: "boolean", about: "Paste although the program did not ask for bracketed paste" },
			"until.text": { type: "string", about: "Appears in new output" },
			"until.pattern": { type: "string", about: "Regular expression on new output" },
			"until.gone": { type: "string", about: "Leaves the screen; must have been there" },
			"until.stillMs": { type: "integer", about: "No output for this long", least: 1 },
			"until.port": { type: "integer", about: "TCP port it listens on", least: 1 },
			"until.only": {
				type: "boolean",
				about: "With `send` and `start`: do not return because the program waits for input",
			},
			timeoutMs: { type: "integer", about: "Return by then; the program goes on", default: 30000, least: 0 },
			ifUnchanged: { type: "boolean", about: "Refuse if it printed since your last answer" },
			ifOffset: {
				type: "integer",
				about: "Refuse when the program has written more than this offset of your last answer",
				least: 0,
			},
			id: { type: "string", about: "A repeated id is not typed twice" },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	read: {
		title: "Read a terminal",
		fields: {
			session: { type: "string", about: "Name or id" },
			view: { type: "string", choices: ["new", "screen", "lines", "raw", "picture", "why"], default: "new" },
			lines: { type: "integer", about: "How many lines or matches; 50 unless a range is given", least: 1 },
			from: {
				type: "integer",
				about: "First line, counted from 1 over everything; with view `raw` the first byte",
				least: 0,
			},
			to: { type: "integer", about: "Last line; with view `raw` the byte to stop before", least: 0 },
			search: { type: "string", about: "Only lines that contain this text" },
			pattern: { type: "string", about: "Only lines that match this regular expression" },
			context: { type: "integer", about: "Lines to show around each match", default: 0, least: 0 },
			order: {
				type: "string",
				about: "Which matches, if there are more than `lines`",
				choices: ["newest", "oldest"],
				default: "newest",
			},
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	wait: {
		title: "Wait for a program",
		fields: {
			session: { type: "string", about: "Name or id" },
			"until.text": { type: "string", about: "Appears in new output" },
			"until.pattern": { type: "string", about: "Regular expression on new output" },
			"until.gone": { type: "string", about: "Leaves the screen; must have been there" },
			"until.stillMs": { type: "integer", about: "No output for this long", least: 1 },
			"until.port": { type: "integer", about: "TCP port it listens on", least: 1 },
			"until.only": {
				type: "boolean",
				about: "With `send` and `start`: do not return because the program waits for input",
			},
			timeoutMs: { type: "integer", about: "Return by then; the program goes on", default: 30000, least: 0 },
			from: {
				type: "integer",
				about: "Count output from this offset as new, instead of from your last read: resumes a wait that was cut off",
				least: 0,
			},
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	run: {
		title: "Run a command in the shell",
		fields: {
			command: { type: "string" },
			shell: { type: "string", about: "Another name is another shell", default: "main" },
			cwd: { type: "string", about: "Change there first" },
			timeoutMs: { type: "integer", about: "Then `onTimeout`", default: 30000, least: 0 },
			onTimeout: {
				type: "string",
				about: "End the command, or leave it running",
				choices: ["stop", "leave"],
				default: "stop",
			},
			separate: { type: "boolean", about: "Also give stdout and stderr apart", default: false },
			program: { type: "string", about: "For a new shell: bash, zsh, fish, sh; yours by default" },
			clean: { type: "boolean", about: "For a new shell: read no start files", default: false },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	list: {
		title: "List sessions",
		fields: {
			status: {
				type: "string",
				about: "All of these",
				choices: ["running", "ended", "starting", "succeeded", "failed", "cancelled", "stream_lost"],
			},
			since: { type: "scalar", about: "Only where something happened since: ms since 1970, or an ISO time" },
		},
	},
	close: {
		title: "End a session",
		fields: {
			session: { type: "string", about: "Name or id" },
			force: { type: "boolean", about: "Kill at once", default: false },
			keep: {
				type: "boolean",
				about: "End only the main program; let its background processes run on",
				default: false,
			},
			forget: { type: "boolean", about: "Also delete its record and output", default: false },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	signal: {
		title: "Signal a program",
		fields: {
			session: { type: "string", about: "Name or id" },
			signal: {
				type: "string",
				choices: ["INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2", "WINCH", "TSTP", "CONT"],
				default: "INT",
			},
			timeoutMs: { type: "integer", about: "Return by then; the program goes on", default: 5000, least: 0 },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	resize: {
		title: "Resize a terminal",
		fields: {
			session: { type: "string", about: "Name or id" },
			cols: { type: "integer", least: 2 },
			rows: { type: "integer", least: 1 },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	ask_human: {
		title: "Ask the person",
		fields: {
			session: { type: "string", about: "Name or id" },
			question: { type: "string", about: "What they should do" },
		},
	},
} as const satisfies Record<string, DeclaredTool>;
