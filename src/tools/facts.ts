// Schemas of what tools answer. They document the answers (OpenAPI) and check them in
// tests; on the way to a caller nothing is parsed.

import { z } from "zod";
import {
	ACTIVITIES,
	CERTAINTIES,
	type ListedSession,
	type ListFacts,
	MATCHED_BY,
	RETURNED,
	type ReadFacts,
	type RunFacts,
	SANDBOX_FACTS,
	type SessionFacts,
	STATUSES,
	type StartFacts,
	WAITING_FOR,
} from "../protocol/answer.ts";
import type { Approval } from "../protocol/approval.ts";
import { type Clean, type CleanLine, isClean, isCleanLine } from "../protocol/clean.ts";
import { EVENTS, type EventsDropped, type SessionEvent } from "../protocol/events.ts";
import type { FleetHostStatus } from "../protocol/fleet.ts";
import { NEEDS, type Need, PERSON_STATES, type PersonSession } from "../protocol/person-session.ts";
import type { FleetSeen, ListChange } from "../protocol/session-list.ts";
import { INHERIT } from "../pty/environment.ts";

/** One schema for each field, no more and no fewer: the compiler compares it with the type. */
type Shape<T> = { readonly [K in keyof T]-?: z.ZodType<T[K]> };

/** Text that passed the filter; a plain string does not compile. */
export const cleanText = z.custom<Clean>(isClean, "text that did not pass the filter");
export const cleanLine = z.custom<CleanLine>(isCleanLine, "not one line that passed the filter");

export const count = z.int().min(0);
const exit = z.strictObject({ code: z.int().nullable(), signal: z.string().nullable() });
const range = { from: count, to: count };
const processes = z.array(z.strictObject({ pid: count, command: cleanLine }));
const sandbox = z.enum(SANDBOX_FACTS).nullable().describe("Whether it is confined; null where that is not known");

const place = z.exactOptional(cleanLine).describe("Where it runs, if not on this system; `cwd` is a directory there");

const session = {
	session: z.string().describe("The id"),
	name: cleanLine,
	owner: z.exactOptional(cleanLine).describe("Whose it is, where it is not the caller's own"),
	status: z.enum(STATUSES),
	activity: z.enum(ACTIVITIES).nullable().describe("Null once the session has ended"),
	waitingFor: z.enum(WAITING_FOR).nullable(),
	certainty: z.enum(CERTAINTIES).nullable(),
	because: cleanLine.describe("One sentence of evidence"),
	returned: z.enum(RETURNED).describe("Why the call returned"),
	matched: z.boolean().nullable().describe("Whether a condition of `until` came true; null where none was given"),
	matchedBy: z.exactOptional(z.enum(MATCHED_BY)).describe("Which one came true, where several were given"),
	matchedLine: z.exactOptional(count).describe("The number of the line that matched, where `text` does not show it"),
	limited: z
		.exactOptional(z.strictObject({ askedMs: count, waitedMs: count }))
		.describe("The wait was cut short for the caller's host; `wait` continues it"),
	text: cleanText.describe("What is new since this caller's last read"),
	offset: count.describe("The byte offset up to which `text` is complete"),
	truncated: z.boolean(),
	exit: exit.nullable(),
	in: place,
	cwd: cleanLine,
	ports: z.array(count).describe("TCP ports on which the session's processes listen"),
	driver: z.enum(["agent", "human"]),
	sandbox,
	elapsedMs: count,
	view: z.enum(["lines", "screen", "rows"]),
	cursor: z.strictObject({ row: count, column: count }).nullable().describe("From 1; null when hidden"),
	highlights: z.array(z.strictObject({ row: count, text: cleanLine })).describe("What stands out by colour"),
	missed: z
		.strictObject({ lines: count, ...range })
		.nullable()
		.describe("Lines that are not in `text`, by number"),
	passedOver: z
		.exactOptional(z.strictObject(range))
		.describe(
			"Bytes of output before `text` whose lines were too many to number in time; `read` them by line or `raw`",
		),
	lines: z
		.exactOptional(z.strictObject({ ...range, total: count }))
		.describe("Which lines the answer is about, of all that were printed; those in `missed` are not shown"),
	lastCommand: z.exactOptional(z.strictObject({ exitCode: z.int().nullable(), pipeStatus: z.array(z.int()) })),
	survivors: z.exactOptional(processes).describe("Processes that a close could not end"),
	left: z
		.exactOptional(processes)
		.describe("Of a session that has ended: processes that it left running; `close` ends them"),
	people: z.exactOptional(z.array(cleanLine)).describe("What people did since your last answer, said once"),
	notices: z.exactOptional(z.array(cleanLine)).describe("What happened since your last answer, said once"),
	unentered: z.exactOptional(count).describe("Characters that were typed and stand there until Enter is pressed"),
	joinedTo: z.exactOptional(count).describe("With `send`: how many such characters the text was joined to"),
	repeated: z.exactOptional(z.literal(true)).describe("A write with this id was typed before; nothing was typed now"),
} satisfies Shape<SessionFacts>;

export const sessionFactsSchema: z.ZodType<SessionFacts> = z.strictObject(session);

const start = {
	...session,
	environment: z
		.strictObject({ inherit: z.enum(INHERIT), withheld: z.array(cleanLine) })
		.describe("What the program got of its caller's environment, and what was withheld"),
} satisfies Shape<StartFacts>;

export const startFactsSchema: z.ZodType<StartFacts> = z.strictObject(start);

const read = {
	...session,
	matches: z
		.exactOptional(z.strictObject({ count, shown: count }))
		.describe("How many lines match a search, and how many of them are shown"),
	base64: z.exactOptional(z.string()),
	from: z.exactOptional(count),
	to: z.exactOptional(count),
	gaps: z.exactOptional(z.array(z.strictObject(range))),
	picture: z.exactOptional(z.strictObject({ mimeType: z.literal("image/png"), base64: z.string() })),
	why: z.exactOptional(z.literal(true)),
} satisfies Shape<ReadFacts>;

export const readFactsSchema: z.ZodType<ReadFacts> = z.strictObject(read);

const run = {
	...session,
	...range,
	exitCode: z.int().nullable().describe("Null while the command runs"),
	pipeStatus: z.array(z.int()),
	signal: cleanLine.nullable().describe("The signal that ended it"),
	ok: z.boolean().nullable().describe("Exit code 0 and no part of a pipe failed"),
	stdout: z.exactOptional(z.string()),
	stderr: z.exactOptional(z.string()),
	timedOut: z.boolean(),
	durationMs: count,
	shell: cleanLine,
	shellNote: cleanLine.nullable(),
	jobs: processes.describe("Left running in the background"),
	before: z
		.exactOptional(z.strictObject({ text: cleanText, exitCode: z.int().nullable() }))
		.describe("The command before, where its own call was answered before its end: the rest of its output"),
} satisfies Shape<RunFacts>;

export const runFactsSchema: z.ZodType<RunFacts> = z.strictObject(run);

const listed = {
	session: z.string().describe("The id"),
	name: cleanLine,
	command: cleanLine,
	in: place,
	cwd: cleanLine,
	status: z.enum(STATUSES),
	activity: z.enum(ACTIVITIES).nullable(),
	waitingFor: z.enum(WAITING_FOR).nullable(),
	because: cleanLine,
	exit: exit.nullable(),
	pid: count.nullable(),
	createdAt: count,
	updatedAt: count,
	offset: count,
	lines: count.nullable().describe("Null while they are being counted, and where some output is not kept"),
	lastLine: cleanLine,
	truncated: z.boolean(),
	owner: z.string().nullable(),
	mine: z.boolean().describe("Of the caller"),
	byName: z.boolean().describe("For the caller its name means this one, and no other"),
	parent: z.string().nullable(),
	keep: z.boolean(),
	inherit: z.enum(INHERIT).nullable().describe("Of its caller's environment; null: what the options say"),
	sandbox,
	left: z.exactOptional(processes).describe("Of one that has ended: processes that it left running; `close` ends them"),
	host: z.exactOptional(z.string()).describe("Of one on another host of the fleet"),
	unreachableSince: z
		.exactOptional(count.nullable())
		.describe("Its host is not heard of since then (null: not known); the rest is what was known before"),
} satisfies Shape<ListedSession>;

export const listFactsSchema: z.ZodType<ListFacts> = z.strictObject({
	sessions: z.array(z.strictObject(listed)),
	now: count,
	status: z.string().nullable().describe("Which were asked for; null: all"),
	next: z.exactOptional(z.string()).describe("In a fleet, where there are more: `after` of the call that lists them"),
});

const driver = z.union([
	z.strictObject({ kind: z.literal("agent") }),
	z.strictObject({ kind: z.literal("person"), who: z.string(), since: count, epoch: count }),
]);

const need = {
	kind: z.enum(NEEDS),
	since: count.describe("Milliseconds since 1970"),
	question: cleanLine.nullable().describe("What the agent asked; else the line on which the program asks"),
	reason: cleanLine.nullable(),
	program: cleanLine.describe("What reads the terminal"),
	command: cleanLine,
	host: cleanLine.nullable(),
} satisfies Shape<Need>;

const personFields = {
	...listed,
	state: z.enum(PERSON_STATES),
	cols: count,
	rows: count,
	ports: z.array(count),
	driver,
	needs: z.strictObject(need).nullable().describe("What a person is needed for"),
} satisfies Shape<PersonSession>;
export const personSessionSchema: z.ZodType<PersonSession> = z.strictObject(personFields);

/** A message of the live list. */
const approvalFields = {
	id: z.string(),
	at: count,
	owner: cleanLine,
	token: cleanLine.nullable(),
	parent: cleanLine.nullable(),
	tool: cleanLine,
	effect: z.enum(["starts", "types", "ends"]),
	what: cleanText.describe("Exactly what would be run, typed or done"),
	session: z.string().nullable(),
	name: cleanLine.nullable(),
	cwd: cleanLine.nullable(),
	sandbox: cleanLine,
	because: cleanLine.nullable(),
} satisfies Shape<Approval>;
export const approvalSchema: z.ZodType<Approval> = z.strictObject(approvalFields);

const fleetHost = {
	host: z.string(),
	reachable: z.boolean(),
	since: count.nullable().describe("Since when it is reachable, or not heard of"),
	version: z.string().nullable(),
	ours: z
		.exactOptional(z.string())
		.describe("The version of this machine, where that is another one: its sessions cannot be used from here now"),
	labels: z.record(z.string(), z.string()),
	running: count.nullable().describe("Sessions"),
	capacity: count.nullable(),
	load: z.number().nullable().describe("Processes that want to run, for each of its processors"),
} satisfies Shape<FleetHostStatus>;

const fleetSeen = {
	host: z.string().describe("This one"),
	awaySince: count.nullable().describe("Since when the fleet's servers are away; null while they are there"),
	hosts: z.array(z.strictObject(fleetHost)),
} satisfies Shape<FleetSeen>;

export const listChangeSchema = z.strictObject({
	full: z.boolean().describe("`sessions` are all; otherwise those that changed"),
	now: count,
	sessions: z.array(z.strictObject(personFields)),
	removed: z.array(z.string()).describe("The ids of those that are gone"),
	approvals: z
		.exactOptional(z.array(z.strictObject(approvalFields)))
		.describe("For people: all calls that wait for approval, where these have changed"),
	fleet: z
		.exactOptional(z.strictObject(fleetSeen))
		.describe("The fleet, where it has changed; a full list without it is that of a host in no fleet"),
} satisfies Shape<Omit<ListChange, "version">>);

export const sessionEventSchema = z.strictObject({
	seq: count.describe("Increases within one daemon"),
	at: count,
	event: z.enum(EVENTS),
	session: z.string().describe("The id"),
	name: z.string(),
	status: z.enum(STATUSES),
	host: z.exactOptional(z.string()).describe("Where it is another machine of the fleet"),
	owner: z.exactOptional(z.string().nullable()).describe("With `host`: whose the session is"),
	activity: z.exactOptional(z.enum(ACTIVITIES).nullable()),
	waitingFor: z.exactOptional(z.enum(WAITING_FOR).nullable()),
	because: z.exactOptional(z.string()),
	exit: z.exactOptional(exit.nullable()),
	driver: z.exactOptional(driver).describe("With `driver`: who may type from now on"),
	offset: count,
	bytes: z.exactOptional(count).describe("Of output that was lost, or of input that was dropped"),
	lastLines: z.exactOptional(z.string()).describe("With `ended`"),
} satisfies Shape<SessionEvent>);

export const eventsDroppedSchema = z.strictObject({
	seq: count.describe("Of the last one that was dropped"),
	at: count,
	event: z.literal("dropped"),
	dropped: count,
} satisfies Shape<EventsDropped>);
