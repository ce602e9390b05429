// The fields that several tools share.

import { z } from "zod";
import { limits, options } from "../session/options.ts";
import { PARENT_ID } from "../session/parent.ts";

const { timeoutMs, maxTokens, cols, rows } = options;

export const session = z.string().min(1).max(200).describe("Name or id of the session");

export const until = z
	.strictObject({
		text: z.string().min(1).max(4096).optional().describe("This text appears in new output"),
		pattern: z.string().min(1).max(512).optional().describe("This regular expression matches new output"),
		gone: z.string().min(1).max(4096).optional().describe("This text is no longer on the screen"),
		stillMs: z.int().min(1).max(timeoutMs.max).optional().describe("No output for this many ms"),
		port: z.int().min(1).max(65535).optional().describe("The session listens on this TCP port"),
		only: z.boolean().optional().describe("Do not return just because the program waits for input"),
	})
	.optional()
	.describe("More reasons to return. The program's waiting for input and its end always count");

export const timeout = z
	.int()
	.min(timeoutMs.min)
	.max(timeoutMs.max)
	.default(timeoutMs.default)
	.describe("Return after this at the latest; the program keeps running");

export const budget = z
	.int()
	.min(maxTokens.min)
	.max(maxTokens.max)
	.default(maxTokens.default)
	.describe("Maximum output, in tokens");

export const width = z.int().min(cols.min).max(cols.max);
export const height = z.int().min(rows.min).max(rows.max);

export const directory = z.string().min(1).max(limits.pathChars);
/** A program, by name or path. */
export const program = z.string().min(1).max(limits.pathChars);
export const text = z.string().max(limits.textChars);
export const keys = z.array(z.string().min(1).max(40)).max(1000);
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
	.refine(
		(words) => totalChars(words) <= limits.argumentsChars,
		`at most ${limits.argumentsChars} characters in total`,
	);
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
	);

const totalChars = (words: readonly string[]) => words.reduce((sum, word) => sum + word.length, 0);
