// What each route of routes.ts does: it turns a request into one call on the client and its answer
// into a response. Who gets in is in guard.ts, what the page needs beside tools in people-routes.ts.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { faultAt } from "../protocol/boundary.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { Fault } from "../protocol/fault.ts";
import { observerOf } from "../session/observer.ts";
import { PARENT_HEADER, parentFromHeader } from "../session/parent.ts";
import { callerWithin } from "../session/scope.ts";
import type { Client, ToolSet } from "../tools/client.ts";
import { ScopedSessions, type Within } from "../tools/scoped.ts";
import type { Caller, Effect } from "../tools/tool.ts";
import type { BadTokens } from "./bad-tokens.ts";
import type { Bodies } from "./bodies.ts";
import { type AccessPolicy, type AccessRequest, type Admission, admit } from "./guard.ts";
import { logIn } from "./login.ts";
import { openApi } from "./openapi.ts";
import { notBuilt, notLoggedIn, reloadScript, WebFiles } from "./pages.ts";
import { exportAnswer, momentAnswer, timelineAnswer } from "./past.ts";
import { approvalIn, bodyOf, PEOPLE_ROUTES, type PeopleParts, type Route } from "./people-routes.ts";
import { may, mustBeAllowed } from "./roles.ts";
import { LIST_QUERY, type RequestName, ROUTES } from "./routes.ts";
import { eventFrames, type Frame, listFrames, outputFrames, sse } from "./streams.ts";
import { revoked, type TokenUse } from "./token-uses.ts";
import type { TokenRecord, Tokens } from "./tokens.ts";

export interface HttpParts {
	readonly client: Client;
	readonly version: string;
	/** The tools that can be called. */
	readonly sets: readonly ToolSet[];
	/** The caller, by token. */
	caller(token: TokenRecord): Caller;
	/** The sessions within a scope; without it, tokens with one reach nothing. */
	readonly within?: Within;
	/** What people see and do beside calling tools; without it there are no such routes. */
	readonly people?: PeopleParts;
	/** Where the page was built. */
	readonly web?: string;
	/** The MCP endpoint, where there is one. */
	readonly mcp?: {
		fetch(
			request: Request,
			access: {
				tokenId: string;
				caller: Caller;
				may(effect: Effect): boolean;
				sees(event: SessionEvent): boolean;
				bodyBytes: number;
			},
		): Promise<Response>;
		/** Ends the connections of tokens that are no longer valid. */
		endRevoked(isValid: (tokenId: string) => boolean): void;
	};
}

/** Who may come in, and what is in progress. */
interface Access extends AccessPolicy {
	/** Where we listen. */
	readonly url: string;
	/** Counts a token that is not valid. */
	readonly countBad: BadTokens["count"];
	/** Counts a request; throws when its token has too many. */
	begin(token: TokenRecord, incoming: IncomingMessage, outgoing: ServerResponse): TokenUse;
}

interface AppParts {
	readonly access: Access;
	readonly tokens: Tokens;
	readonly bodies: Bodies;
	readonly limits: { readonly streamStallMs: number };
}

export type Env = { Bindings: HttpBindings; Variables: { token: TokenRecord; use: TokenUse } };

type Handle = (c: Context<Env>) => Response | Promise<Response>;

const JSON_TYPE = { "content-type": "application/json" };

/** Answers before any route: Host, Origin, token. */
function guard(access: Access): MiddlewareHandler<Env> {
	return async (c, next) => {
		const admission = admit(requestOf(c), access);
		if ("refused" in admission && admission.refused === 401 && c.req.path === "/")
			return notLoggedIn({
				fromElsewhere: !["none", "same-origin", undefined].includes(c.req.header("sec-fetch-site")),
			});
		if ("refused" in admission) {
			const { incoming, outgoing } = c.env;
			const { fault, close } = admission.shown ? access.countBad(incoming.socket) : { fault: null, close: false };
			if (close) outgoing.setHeader("connection", "close");
			if (fault !== null) return c.json(fault.toJSON(), 429, { "retry-after": String(fault.facts.seconds) });
			return c.json(refusal(admission).toJSON(), admission.refused, { "www-authenticate": "Bearer" });
		}
		if (admission.token !== null) {
			c.set("token", admission.token);
			c.set("use", access.begin(admission.token, c.env.incoming, c.env.outgoing));
		}
		// A form post from another site cannot have this type without a preflight, which we never allow.
		if (c.req.method === "POST" && !/^application\/json\b/.test(c.req.header("content-type") ?? ""))
			throw new Fault("bad_input", { problems: ["the body must be JSON, with Content-Type: application/json"] });
		return next();
	};
}

const requestOf = (c: Context<Env>): AccessRequest => ({
	method: c.req.method,
	path: c.req.path,
	upgrade: false,
	headers: c.env.incoming.headers,
});

export function refusal({ why }: Extract<Admission, { refused: number }>): Fault {
	return new Fault("not_allowed", { what: `This request (${why})` });
}

export function resumeAt(text: string | undefined): number | undefined {
	const value = Number(text);
	return text !== undefined && text !== "" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

export function httpApp(parts: HttpParts, { access, tokens, bodies, limits }: AppParts): Hono<Env> {
	const { client, version, sets, people, mcp } = parts;
	const scoped = new ScopedSessions(parts.within);
	const app = new Hono<Env>();

	app.use("*", guard(access));
	app.onError((error, c) => {
		const fault = faultAt(`http ${c.req.method} ${c.req.path}`, error);
		return c.json(fault.toJSON(), fault.status as 400);
	});
	app.notFound((c) => {
		const instead = "GET /v1/openapi.json lists what there is.";
		return c.json(new Fault("not_supported", { what: `${c.req.method} ${c.req.path}`, instead }).toJSON(), 404);
	});

	const jsonIn = async (c: Context<Env>): Promise<unknown> => {
		const body = (await bodies.read(c.env.incoming)).toString("utf8");
		try {
			return body === "" ? {} : JSON.parse(body);
		} catch (error) {
			throw new Fault("bad_input", { problems: [`the body is not JSON (${(error as Error).message})`] });
		}
	};
	const stream = (c: Context<Env>, frames: (signal: AbortSignal) => AsyncIterable<Frame>) => {
		const stop = new AbortController();
		c.get("use").end = () => stop.abort(revoked());
		const headersOnly = c.req.method === "HEAD";
		return sse(frames(stop.signal), { outgoing: c.env.outgoing, stop, headersOnly, stallMs: limits.streamStallMs });
	};
	/** The session that the address names, as this token may mean it. */
	const sessionIn = (c: Context<Env>) => scoped.meant(c.get("token"), c.req.param("id")!);
	/** By whom that is asked for. */
	const clientIn = (c: Context<Env>) => scoped.client(c.get("token"), client);
	const files = parts.web === undefined ? null : new WebFiles(parts.web);
	// Neither changes while we run.
	let description: { readonly of: string; readonly text: string } | undefined;

	const handlers: Readonly<Record<RequestName, Handle | undefined>> = {
		"GET /healthz": (c) => c.json({ ok: true }),
		"GET /reload.js": () => reloadScript(),
		"GET /login": (c) => {
			const query = new URL(c.req.url).searchParams;
			return logIn(requestOf(c), {
				query,
				policy: access,
				tokens,
				countBad: () => access.countBad(c.env.incoming.socket),
			});
		},
		"GET /": async () => (await files?.answer("/")) ?? notBuilt(),
		"GET /assets/:name": async (c) => (await files?.answer(c.req.path)) ?? c.notFound(),
		"GET /v1/me": async (c) => {
			const { role, name, scope } = c.get("token");
			const { pid, startedAt } = await client.status();
			const session = scope !== null && "session" in scope ? scope.session : null;
			return c.json({ role, name, scope, session, version, pid, startedAt, url: access.url });
		},
		"GET /v1/tools": async (c) => {
			return c.body(JSON.stringify({ tools: await client.tools(sets) }), 200, JSON_TYPE);
		},
		"GET /v1/openapi.json": async (c) => {
			// Not the address of the request: that may name another host.
			const cards = await client.tools(sets);
			const of = JSON.stringify(cards); // a fleet adds to them
			if (description?.of !== of) description = { of, text: JSON.stringify(openApi(cards, version, access.url)) };
			return c.body(description.text, 200, JSON_TYPE);
		},
		"POST /v1/tools/:name": async (c) => {
			const token = c.get("token");
			const name = c.req.param("name")!;
			const cards = await client.tools(sets);
			const card = cards.find((one) => one.name === name);
			if (card === undefined) throw new Fault("unknown_tool", { tool: name, tools: cards.map((one) => one.name) });
			mustBeAllowed(token, card.effect, `Calling \`${name}\``);
			const input = await jsonIn(c);
			const caller = callerOf(parts, token, c.req.header(PARENT_HEADER));
			const answer = await client.call(name, input, { caller, signal: untilGone(c.env.outgoing) });
			return prefersText(c.req.header("accept")) ? c.text(answer.text) : c.json(answer.facts);
		},
		"GET /v1/sessions": async (c) => {
			const asked = LIST_QUERY.map((name) => [name, c.req.query(name)] as const).filter(([, value]) => value);
			const caller = observerOf(callerOf(parts, c.get("token")));
			const { facts } = await client.call<string>("list", Object.fromEntries(asked), { caller });
			return c.json(facts);
		},
		"GET /v1/sessions/:id": async (c) => {
			const input = { session: c.req.param("id")!, view: "screen" } as const;
			const answer = await client.call("read", input, { caller: observerOf(callerOf(parts, c.get("token"))) });
			return prefersText(c.req.header("accept")) ? c.text(answer.text) : c.json(answer.facts);
		},
		// To join a session: show this, then continue with the output from its offset.
		"GET /v1/sessions/:id/snapshot": async (c) => {
			const scrollback = c.req.query("scrollback") ?? "";
			if (scrollback !== "" && scrollback !== "0")
				throw new Fault("bad_input", { problems: ["`scrollback` can only be 0"] });
			return c.json(await clientIn(c).snapshot(await sessionIn(c), { screenOnly: scrollback === "0" }));
		},
		"GET /v1/sessions/:id/output": async (c) => {
			const from = resumeAt(c.req.header("last-event-id")) ?? resumeAt(c.req.query("from")) ?? 0;
			const session = await sessionIn(c);
			return stream(c, (signal) => outputFrames(clientIn(c).output(session, { from, signal }), from));
		},
		"GET /v1/sessions/:id/timeline": async (c) => timelineAnswer(c, clientIn(c), await sessionIn(c)),
		"GET /v1/sessions/:id/moment": async (c) => momentAnswer(c, clientIn(c), await sessionIn(c)),
		"GET /v1/sessions/:id/export": async (c) => {
			const session = await sessionIn(c);
			const caller = observerOf(callerOf(parts, c.get("token")));
			const read = () => client.call("read", { session, view: "lines", from: 1, to: 1, maxTokens: 50 }, { caller });
			// One that cannot be read can still be drawn.
			const name = () =>
				read().then(
					({ facts }) => facts.name,
					() => session,
				);
			return exportAnswer(c, clientIn(c), { session, name });
		},
		"GET /v1/events": (c) => {
			const afterSeq = resumeAt(c.req.header("last-event-id")) ?? resumeAt(c.req.query("after"));
			return stream(c, (signal) => {
				const events = client.events({ ...(afterSeq !== undefined && { afterSeq }), signal });
				return eventFrames(scoped.events(c.get("token"), events));
			});
		},
		"GET /v1/watch":
			people &&
			((c) => {
				const token = c.get("token");
				const watched = { scope: token.scope, decides: may(token, "approves") };
				return stream(c, (signal) => listFrames(client.people({ ...watched, signal })));
			}),
		"ALL /mcp":
			mcp &&
			(async (c) => {
				const token = c.get("token");
				const { incoming } = c.env;
				let bodyBytes = 0;
				if (c.req.method === "POST") {
					const body = await bodies.read(incoming);
					bodyBytes = body.length;
					Object.assign(incoming, { rawBody: body }); // where the request takes its body from
				}
				return mcp.fetch(c.req.raw, {
					tokenId: token.id,
					caller: callerOf(parts, token, c.req.header(PARENT_HEADER)),
					may: (effect) => may(token, effect),
					sees: (event) => scoped.sees(token, event),
					bodyBytes,
				});
			}),
	};
	for (const [name, handle] of Object.entries(handlers)) {
		if (handle === undefined) continue; // that part is not there
		const [method, path] = name.split(" ") as [string, string];
		const needs = ROUTES[name as RequestName];
		const serve = async (c: Context<Env>) => {
			if (needs !== "nothing" && needs !== "tool")
				mustBeAllowed(c.get("token"), needs, `${c.req.method} ${c.req.path}`);
			return handle(c);
		};
		if (method === "ALL") app.all(path, serve);
		else app.on(method, path, serve);
	}
	const act = (route: Route, of: PeopleParts) => async (c: Context<Env>) => {
		const token = c.get("token");
		mustBeAllowed(token, route.needs, route.doing);
		const body = bodyOf(route, route.body === null ? {} : await jsonIn(c));
		const caller = callerOf(parts, token, c.req.header(PARENT_HEADER));
		const id = route.of === "approval" ? approvalIn(of, c.req.param("id")!, token.scope) : await sessionIn(c);
		return c.json(
			await route.run({
				id,
				body,
				caller,
				sessions: clientIn(c),
				approvals: client,
				people: of,
				tokens,
				url: access.url,
			}),
		);
	};
	if (people) for (const route of PEOPLE_ROUTES) app.on(route.method, route.path, act(route, people));
	return app;
}

/** The parent comes from the request only: the daemon's own environment belongs to another conversation. */
function callerOf(parts: HttpParts, token: TokenRecord, parent?: string): Caller {
	const { scope } = token;
	const caller = { ...parts.caller(token), parent: parentFromHeader(parent), ...(scope !== null && { scope }) };
	return callerWithin(scope, caller);
}

/** Aborted when the client goes away before its answer was written. */
export function untilGone(outgoing: ServerResponse): AbortSignal {
	const gone = new AbortController();
	outgoing.once("close", () => {
		if (!outgoing.writableFinished) gone.abort();
	});
	return gone.signal;
}

function prefersText(accept = ""): boolean {
	return accept.includes("text/plain") && !accept.includes("application/json");
}
