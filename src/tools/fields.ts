// The fields that several tools share.

import { z } from "zod";
import { options } from "../session/options.ts";

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
