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
			name: { type: "string", about: "Short name to call it by; made from the command if left out" },
			cwd: { type: "string" },
			env: { type: "record", about: "Added to what it inherits" },
			inherit: {
				type: "string",
				about: "Of your environment: `safe` (default) is all but credentials",
				choices: ["none", "safe", "all"],
			},
			cols: { type: "integer", least: 2 },
			rows: { type: "integer", least: 1 },
			"until.text": { type: "string", about: "This text appears in new output" },
			"until.pattern": { type: "string", about: "This regular expression matches new output" },
			"until.gone": { type: "string", about: "This text is no longer on the screen" },
			"until.stillMs": { type: "integer", about: "No output for this many ms", least: 1 },
			"until.port": { type: "integer", about: "The session listens on this TCP port", least: 1 },
			"until.only": { type: "boolean", about: "Do not return just because the program waits for input" },
			timeoutMs: {
				type: "integer",
				about: "Return after this at the latest; the program keeps running",
				default: 30000,
				least: 0,
			},
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
			session: { type: "string", about: "Name or id of the session" },
			text: { type: "string", about: "Typed as is" },
			submit: { type: "boolean", about: "Press Enter after the text", default: false },
			keys: {
				type: "strings",
				about: "enter tab esc up down left right home end pageup f1 ctrl+c alt+x shift+tab … or single characters",
			},
			paste: { type: "string", about: "Many lines as one paste, for editors and REPLs" },
			force: { type: "boolean", about: "Paste although the program did not ask for bracketed paste" },
			"until.text": { type: "string", about: "This text appears in new output" },
			"until.pattern": { type: "string", about: "This regular expression matches new output" },
			"until.gone": { type: "string", about: "This text is no longer on the screen" },
			"until.stillMs": { type: "integer", about: "No output for this many ms", least: 1 },
			"until.port": { type: "integer", about: "The session listens on this TCP port", least: 1 },
			"until.only": { type: "boolean", about: "Do not return just because the program waits for input" },
			timeoutMs: {
				type: "integer",
				about: "Return after this at the latest; the program keeps running",
				default: 30000,
				least: 0,
			},
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
			session: { type: "string", about: "Name or id of the session" },
			view: { type: "string", choices: ["new", "screen", "lines", "raw", "picture", "why"], default: "new" },
			lines: { type: "integer", about: "How many, with view `lines`", default: 50, least: 1 },
			from: {
				type: "integer",
				about: "First byte, with view `raw` or `lines`: any part of the output, by offset",
				least: 0,
			},
			to: { type: "integer", about: "Byte to stop before", least: 0 },
			search: { type: "string", about: "Only lines that contain this, newest last" },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	wait: {
		title: "Wait for a program",
		fields: {
			session: { type: "string", about: "Name or id of the session" },
			"until.text": { type: "string", about: "This text appears in new output" },
			"until.pattern": { type: "string", about: "This regular expression matches new output" },
			"until.gone": { type: "string", about: "This text is no longer on the screen" },
			"until.stillMs": { type: "integer", about: "No output for this many ms", least: 1 },
			"until.port": { type: "integer", about: "The session listens on this TCP port", least: 1 },
			"until.only": { type: "boolean", about: "Do not return just because the program waits for input" },
			timeoutMs: {
				type: "integer",
				about: "Return after this at the latest; the program keeps running",
				default: 30000,
				least: 0,
			},
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
			command: { type: "string", about: "Any number of lines; taken as it is" },
			shell: { type: "string", about: "Which shell; another name gives another shell", default: "main" },
			cwd: { type: "string", about: "Change there first, and stay" },
			timeoutMs: {
				type: "integer",
				about: "Return after this at the latest; the program keeps running",
				default: 30000,
				least: 0,
			},
			onTimeout: {
				type: "string",
				about: "End the command at the timeout, or leave it running",
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
				about: "Only these",
				choices: ["running", "ended", "starting", "succeeded", "failed", "cancelled", "stream_lost"],
			},
			since: { type: "scalar", about: "Only where something happened since: ms since 1970, or an ISO time" },
		},
	},
	close: {
		title: "End a session",
		fields: {
			session: { type: "string", about: "Name or id of the session" },
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
			session: { type: "string", about: "Name or id of the session" },
			signal: {
				type: "string",
				choices: ["INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2", "WINCH", "TSTP", "CONT"],
				default: "INT",
			},
			timeoutMs: {
				type: "integer",
				about: "Return after this at the latest; the program keeps running",
				default: 5000,
				least: 0,
			},
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	resize: {
		title: "Resize a terminal",
		fields: {
			session: { type: "string", about: "Name or id of the session" },
			cols: { type: "integer", least: 2 },
			rows: { type: "integer", least: 1 },
			maxTokens: { type: "integer", about: "Maximum output, in tokens", default: 4000, least: 50 },
		},
	},
	ask_human: {
		title: "Ask the person",
		fields: {
			session: { type: "string", about: "Name or id of the session" },
			question: { type: "string", about: "What the person should do, in one or two sentences" },
		},
	},
} as const satisfies Record<string, DeclaredTool>;
