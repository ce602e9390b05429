// The routes of the page, each declared once: what it needs, takes and answers. The app serves them, and
// the description in openapi.ts is made from the same records.

import { z } from "zod";
import type { Approval } from "../protocol/approval.ts";
import type { PersonDone } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import { approvalsWithin, type Scope } from "../session/scope.ts";
import type { Ability } from "../tools/abilities.ts";
import type { Client } from "../tools/client.ts";
import { approvalSchema } from "../tools/facts.ts";
import { sessionName } from "../tools/fields.ts";
import { problemsOf } from "../tools/input-problems.ts";
import type { Caller } from "../tools/tool.ts";
import { sharedLink } from "./shared-link.ts";
import type { Tokens } from "./tokens.ts";

/** What the page needs beside the tools. */
export interface PeopleParts {
	/** The calls of this machine that wait for a person. */
	readonly approvals: () => readonly Approval[];
	/** How agents are told of the person at the page. */
	readonly person: string;
}

export interface RouteRequest<B> {
	/** What the address names, as this caller may mean it: a session by its id or name, or the id of an approval. */
	readonly id: string;
	readonly body: B;
	readonly caller: Caller;
	readonly sessions: Pick<Client, "act">;
	readonly approvals: Pick<Client, "decide">;
	readonly people: PeopleParts;
	readonly tokens: Tokens;
	/** Where we listen. */
	readonly url: string;
}

export interface Route<B extends z.ZodObject = z.ZodObject> {
	readonly method: "post" | "delete";
	readonly path: string;
	/** What the address names, where it is no session. */
	readonly of?: "approval";
	readonly needs: Ability;
	/** In a refusal: "Sharing a session". */
	readonly doing: string;
	readonly summary: string;
	readonly description?: string;
	readonly body: B | null;
	readonly answer: z.ZodType<object>;
	run(request: RouteRequest<z.output<B>>): Promise<object>;
}

const route = <B extends z.ZodObject>(record: Route<B>): Route => record as unknown as Route;

const MAX_SHARED_MINUTES = 30 * 24 * 60;
const SHARED_MINUTES = 60;
const MAX_NOTE_CHARS = 2000;
const time = z.int().min(0);
const sessionId = z.strictObject({ session: z.string().describe("The id") });
const SESSION = "/v1/sessions/:id";

export const PEOPLE_ROUTES: readonly Route[] = [
	route({
		method: "post",
		path: `${SESSION}/restart`,
		// Not an agent's, as all of these: they pass no rule of the policy, and an agent has `start`.
		needs: "administers",
		doing: "Starting a session again",
		summary: "End it if it runs, and start the same again",
		description:
			"The same command, directory, size, limits and added environment, under its name and for its owner, as a new session. The rest of the environment, umask and resource limits are those of whoever opened HTTP: what the program had inherited is not recorded.",
		body: z.strictObject({}),
		answer: sessionId,
		run: async ({ id, caller, sessions, people: { person } }) =>
			idIn(await sessions.act(id, { act: "restart", who: person }, { caller })),
	}),
	route({
		method: "post",
		path: `${SESSION}/rename`,
		needs: "administers",
		doing: "Renaming a session",
		summary: "Give it another name",
		body: z.strictObject({ name: sessionName }),
		answer: z.strictObject({ session: z.string(), name: z.string() }),
		run: async ({ id, body: { name }, sessions, people: { person } }) => {
			const done = await sessions.act(id, { act: "rename", who: person, name });
			return { ...idIn(done), name: done.name! };
		},
	}),
	route({
		method: "delete",
		path: SESSION,
		needs: "administers",
		doing: "Removing a session",
		summary: "Delete an ended session and its output",
		body: null,
		answer: sessionId,
		run: async ({ id, sessions, people: { person } }) => idIn(await sessions.act(id, { act: "remove", who: person })),
	}),
	route({
		method: "post",
		path: `${SESSION}/share`,
		needs: "administers",
		doing: "Sharing a session",
		summary: "A link that shows this session, and only shows it, until it ends",
		description: "It can be opened once; the browser that did keeps seeing the session until `expiresAt`.",
		body: z.strictObject({ minutes: z.number().positive().max(MAX_SHARED_MINUTES).default(SHARED_MINUTES) }),
		answer: z.strictObject({ url: z.string(), expiresAt: time }),
		run: async ({ id, body: { minutes }, sessions, people: { person }, tokens, url }) => {
			const { session, name } = await sessions.act(id, { act: "share", who: person });
			const { link, expiresAt } = sharedLink(tokens, { id: session!, name: name!, minutes, url });
			return { url: link, expiresAt };
		},
	}),
	route({
		method: "post",
		path: "/v1/approvals/:id",
		of: "approval",
		needs: "approves",
		doing: "Approving a call",
		summary: "Approve or deny a call that waits for a person",
		body: z.strictObject({ approve: z.boolean(), note: z.string().max(MAX_NOTE_CHARS).optional() }),
		answer: approvalSchema,
		run: async ({ id, body, approvals, people }) => approvals.decide(id, { ...body, who: people.person }),
	}),
];

const idIn = ({ session }: PersonDone) => ({ session: session! });

/** An approval, as far as it is within the scope of who decides. Without one, whoever has it says whether there is one. */
export function approvalIn({ approvals }: PeopleParts, id: string, scope: Scope | null): string {
	if (scope === null) return id;
	const open = approvalsWithin(scope, approvals()).map((one) => one.id);
	if (!open.includes(id)) throw new Fault("approval_not_found", { id, open });
	return id;
}

/** The body of a request to a route. */
export function bodyOf(route: Route, given: unknown): z.output<z.ZodObject> {
	const schema = route.body ?? z.strictObject({});
	const parsed = schema.safeParse(given);
	if (!parsed.success) throw new Fault("bad_input", { problems: problemsOf(parsed.error, schema, given) });
	return parsed.data;
}
