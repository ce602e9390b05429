// The fields that several tools share.

import { z } from "zod";
import { INHERIT } from "../pty/environment.ts";
import { limits, options } from "../session/options.ts";
import { PARENT_ID } from "../session/parent.ts";
import { sandboxChoice } from "../session/policy.ts";
import { fieldKinds } from "./field-kinds.ts";

const { timeoutMs, maxTokens, cols, rows } = options;

/** Not in the list that a model reads, where every word costs tokens; accepted and documented like any other. */
export const advanced = { "x-advanced": true } as const;

export const session = z
	.string()
	.register(fieldKinds, { kind: "session", example: '"py"' })
	.min(1)
	.max(200)
	.describe("Name or id");

export const until = z
	.strictObject({
		text: z.string().min(1).max(4096).optional().describe("Appears in new output"),
		pattern: z.string().min(1).max(512).optional().describe("JavaScript regex on new output; (?i) ignores case"),
		gone: z.string().min(1).max(4096).optional().describe("Leaves the screen; must have been there"),
		stillMs: z.int().min(1).max(timeoutMs.max).optional().describe("No output for this long"),
		port: z
			.int()
			.register(fieldKinds, { kind: "reference" })
			.min(1)
			.max(65535)
			.optional()
			.describe("TCP port it listens on"),
		only: z
			.boolean()
			.optional()
			.describe("With `send` and `start`: do not return because the program waits for input")
			.meta(advanced),
	})
	.register(fieldKinds, { shorthand: "text", example: '{"text": "ready"}' })
	.optional()
	.describe("Wait for any one of these, or the end");

/** Of a tool that also returns when the program waits. What is in it is listed once, with `wait`. */
export const untilToo = until
	.describe("Return also on text, pattern, gone, stillMs or port, as in `wait`")
	.meta({ "x-brief": true });

export const timeout = z
	.int()
	.register(fieldKinds, { option: "timeoutMs" })
	.min(timeoutMs.min)
	.max(timeoutMs.max)
	.default(timeoutMs.default)
	.describe("Return by then; the program goes on");

/** Left out, it is what the options say: excerpt.ts. */
export const budget = z
	.int()
	.min(maxTokens.min)
	.max(maxTokens.max)
	.optional()
	.describe(`Maximum output, in tokens (default: ${maxTokens.default})`);

/** Where hardly any call needs another. */
export const usualBudget = budget.meta(advanced);

export const width = z.int().min(cols.min).max(cols.max);
export const height = z.int().min(rows.min).max(rows.max);

export const directory = z.string().min(1).max(limits.pathChars).register(fieldKinds, { kind: "directory" });
/** A program, by name or path. */
export const program = z.string().min(1).max(limits.pathChars);
export const text = z.string().max(limits.textChars);
export const keys = z
	.array(z.string().min(1).max(40))
	.max(1000)
	.register(fieldKinds, { kind: "keys", example: '["ctrl+c"]' });
/** A position in the output: never rounded. */
export const offset = z.int().min(0).max(Number.MAX_SAFE_INTEGER).register(fieldKinds, { kind: "reference" });
/** Of a line that is too long for an answer: the call in its cut has it. */
export const column = z.int().min(1).max(Number.MAX_SAFE_INTEGER).register(fieldKinds, { kind: "reference" });
/** Lines by number, of a tool that otherwise shows what is new or last. */
export const lineRange = {
	from: offset.optional().describe("First line, of all printed"),
	to: offset.optional().describe("Last line"),
	column: column.optional().describe("The first line from this character on").meta(advanced),
};
export const sessionName = z
	.string()
	.max(64)
	.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "letters, digits, dot, dash and underscore, at most 64");
/** The agent conversation that a session belongs to. */
export const parent = z.string().max(200).regex(PARENT_ID.pattern, PARENT_ID.form);

const argument = z.string().max(limits.argumentChars);
/** A command line that becomes one argument of a shell. */
export const commandLine = argument.min(1);
export const argv = z
	.array(argument)
	.min(1)
	.max(10_000)
	.refine((words) => totalChars(words) <= limits.argumentsChars, `at most ${limits.argumentsChars} characters in total`)
	.register(fieldKinds, { kind: "words", example: '["python3", "-q"]' });
/** A command for a shell that keeps its state. */
export const script = z
	.string()
	.min(1)
	.max(limits.scriptChars)
	.refine((command) => !command.includes("\0"), "no shell can take a NUL byte");
export const environment = z
	.record(
		z
			.string()
			.max(1000)
			.regex(/^[^=\0]+$/),
		argument,
	)
	.refine((env) => Object.keys(env).length <= limits.envEntries, `at most ${limits.envEntries} variables`)
	.refine(
		(env) => totalChars(Object.entries(env).flat()) <= limits.argumentsChars,
		`at most ${limits.argumentsChars} characters in total`,
	)
	.register(fieldKinds, { example: '{"NAME": "value"}' });

const amount = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** Of our own tools. Those of other sets are confined by the policy alone: their originals have no such field. */
export const sandbox = sandboxChoice
	.optional()
	.describe("Confine it: true, a profile's name, or { workspace, ro, rw, network }")
	.meta(advanced);

/** What every tool that starts a program takes beside its command, its directory and `env`. */
export const forProgram = {
	inherit: z.enum(INHERIT).optional().describe("What to inherit; `safe` (default) omits credentials").meta(advanced),
	limits: z
		.strictObject({
			cpuSeconds: amount.optional(),
			memoryBytes: amount.optional(),
			processes: amount.optional(),
			openFiles: amount.optional(),
			fileBytes: amount.optional(),
			wallMs: amount.optional(),
			outputBytesPerSecond: amount.optional(),
		})
		.optional()
		.describe("Resource limits")
		.meta(advanced),
};

/** The same of a tool that starts a shell where there is none. */
export const forShell = {
	env: environment.optional().describe("For a new shell: added to what it inherits").meta(advanced),
	inherit: forProgram.inherit.describe("For a new shell: what to inherit; `safe` (default) omits credentials"),
	limits: forProgram.limits.describe("For a new shell: resource limits"),
};

const totalChars = (words: readonly string[]) => words.reduce((sum, word) => sum + word.length, 0);
