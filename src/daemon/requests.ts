// The shape of every request on the daemon's socket, checked before anything of it is
// used. The sender may be any program of this user, of any version.

import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { DRAWINGS, TOOL_SETS } from "../tools/client.ts";
import { parent } from "../tools/fields.ts";
import { decision, personAct } from "../tools/person-act.ts";
import type { Request } from "./wire.ts";

const MAX_NAME_CHARS = 1000;
const MAX_PATH_CHARS = 4096;
/** As many as Linux has. */
const RESOURCES = 16;
/** The kernel would not pass a larger environment to a program: a quarter of an 8 MiB stack. */
const MAX_ENVIRONMENT_CHARS = 2 << 20;
const MAX_ENVIRONMENT_ENTRIES = 4096;

const id = z.int().min(0);
const name = z.string().max(MAX_NAME_CHARS);
const offset = z.int().min(0);

/** Checks the number of entries before any of them: each bad one would be an issue of its own. */
const few = <T extends z.ZodType>(most: number, schema: T) =>
	z
		.unknown()
		.refine((value) => typeof value !== "object" || value === null || Object.keys(value).length <= most, {
			error: `at most ${most} entries`,
		})
		.pipe(schema as z.ZodType<z.output<T>, unknown>);

const environment = few(
	MAX_ENVIRONMENT_ENTRIES,
	z
		.record(z.string(), z.string())
		.refine(
			(env) =>
				Object.entries(env).reduce((sum, [key, value]) => sum + key.length + value.length, 0) <= MAX_ENVIRONMENT_CHARS,
			`at most ${MAX_ENVIRONMENT_CHARS} characters`,
		),
);

/** Null is unlimited. */
const amount = z.int().min(0).nullable();
const rlimit = z
	.tuple([amount, amount])
	.refine(([soft, hard]) => hard === null || (soft !== null && soft <= hard), "the soft limit is above the hard one");

const caller = z.object({
	owner: name.min(1),
	sessionsOf: name.min(1).optional(),
	commandLine: z.boolean().optional(),
	cwd: z.string().max(MAX_PATH_CHARS),
	env: environment,
	withheld: few(MAX_ENVIRONMENT_ENTRIES, z.array(name)).optional(),
	umask: z.int().min(0).max(0o777).optional(),
	nice: z.int().min(-20).max(19).optional(),
	rlimits: few(RESOURCES, z.array(rlimit)).optional(),
	parent: parent.optional(),
});

/** They are in a lease, which other hosts read. */
const MOST_LABEL_BYTES = 8 << 10;

const fleetWish = z.object({
	servers: z.array(name).max(50),
	credentials: z.exactOptional(z.string().max(MAX_PATH_CHARS)),
	host: z.exactOptional(name),
	labels: few(100, z.record(name, name)).refine(
		(labels) => Buffer.byteLength(JSON.stringify(labels)) <= MOST_LABEL_BYTES,
		`labels of more than ${MOST_LABEL_BYTES} bytes`,
	),
});

const sets = few(TOOL_SETS.length, z.array(z.enum(TOOL_SETS)));

const request = z.discriminatedUnion("do", [
	z.object({ id, do: z.literal("hello"), version: name }),
	z.object({
		id,
		do: z.literal("call"),
		tool: name,
		input: z.unknown(),
		caller,
		answerWithinMs: z.exactOptional(z.number().min(0)),
		sets: z.exactOptional(sets),
	}),
	z.object({ id, do: z.literal("tools"), sets }),
	z.object({ id, do: z.literal("events"), afterSeq: z.exactOptional(offset) }),
	z.object({ id, do: z.literal("output"), session: name, from: offset }),
	z.object({ id, do: z.literal("view"), session: name }),
	z.object({
		id,
		do: z.literal("drawn"),
		session: name,
		as: z.enum(DRAWINGS),
		at: z.exactOptional(z.number().min(0)),
		offset: z.exactOptional(offset),
	}),
	z.object({ id, do: z.literal("act"), session: name, act: personAct, caller }),
	z.object({ id, do: z.literal("drivers"), session: name, lease: z.exactOptional(name) }),
	z.object({ id, do: z.literal("snapshot"), session: name, screenOnly: z.exactOptional(z.boolean()) }),
	z.object({ id, do: z.literal("people"), decides: z.boolean() }),
	z.object({ id, do: z.literal("approvals") }),
	z.object({ id, do: z.literal("decide"), approval: name, decision }),
	z.object({ id, do: z.literal("status") }),
	z.object({
		id,
		do: z.literal("http"),
		port: z.int().min(0).max(65535),
		exact: z.boolean(),
		keep: z.enum(["hold", "pin", "await"]),
		tls: z.exactOptional(z.object({ host: name, names: z.array(name).max(20), cert: name, key: name })),
		caller,
	}),
	z.discriminatedUnion("act", [
		z.object({ id, do: z.literal("fleet"), act: z.literal("status") }),
		z.object({ id, do: z.literal("fleet"), act: z.literal("leave") }),
		z.object({ id, do: z.literal("fleet"), act: z.literal("join"), wish: fleetWish }),
		z.object({ id, do: z.literal("fleet"), act: z.literal("forget"), host: name }),
	]),
	z.object({ id, do: z.literal("stop"), sessions: z.boolean(), replace: z.exactOptional(z.boolean()) }),
	z.object({ id, do: z.literal("cancel") }),
	z.object({ id, do: z.literal("took"), bytes: offset }),
]) satisfies z.ZodType<Request>;

const MAX_PROBLEMS = 5;

/** The request; the fault to answer under its id; or, without a usable id, the reason to end the connection. */
export function parseRequest(
	value: unknown,
): { readonly request: Request } | { readonly id: number; readonly fault: Fault } | { readonly problem: string } {
	const parsed = request.safeParse(value);
	if (parsed.success) return { request: parsed.data };
	const known = z.object({ id }).safeParse(value);
	if (!known.success) return { problem: "a line that is not a request with an id" };
	const problems = parsed.error.issues
		.slice(0, MAX_PROBLEMS)
		.map(({ path, message }) => `${path.join(".")}: ${message}`);
	return { id: known.data.id, fault: new Fault("bad_input", { problems }) };
}
