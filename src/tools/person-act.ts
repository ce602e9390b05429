// The shape of what a person does, checked where it comes in: from the daemon's socket and from the page.

import { z } from "zod";
import type { Decision } from "../protocol/approval.ts";
import type { PersonAct } from "../protocol/driver.ts";
import { height, sessionName, width } from "./fields.ts";

const MAX_NAME_CHARS = 100;
const MAX_NOTE_CHARS = 2000;
const MAX_LINE_CHARS = 64 << 10;

const who = z.string().min(1).max(MAX_NAME_CHARS);
/** The fields of acts, for the page's messages too. */
export const actFields = {
	lease: z.string().max(MAX_NAME_CHARS),
	/** Of the same act when it is sent again. */
	id: z.exactOptional(z.string().regex(/^[0-9a-f]{32}$/)),
	line: z.string().max(MAX_LINE_CHARS),
	note: z.exactOptional(z.string().max(MAX_NOTE_CHARS)),
};
const { lease, id, line, note } = actFields;

export const decision = z.object({ approve: z.boolean(), who, note }) satisfies z.ZodType<Decision>;

export const personAct = z.discriminatedUnion("act", [
	z.object({ act: z.literal("take"), who, lease: z.exactOptional(lease) }),
	z.object({ act: z.literal("keys"), lease, base64: z.string(), id }),
	z.object({ act: z.literal("paste"), lease, text: z.string(), id }),
	z.object({ act: z.literal("resize"), lease, cols: width, rows: height }),
	z.object({ act: z.literal("hand-back"), lease, note }),
	z.object({ act: z.literal("secret"), who, text: line, lease: z.exactOptional(lease), id }),
	z.object({ act: z.literal("answer"), who, text: line, lease: z.exactOptional(lease), id }),
	z.object({ act: z.literal("decline"), who }),
	z.object({ act: z.literal("restart"), who }),
	z.object({ act: z.literal("rename"), who, name: sessionName }),
	z.object({ act: z.literal("remove"), who }),
	z.object({ act: z.literal("share"), who }),
]) satisfies z.ZodType<PersonAct>;
