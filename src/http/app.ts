// The routes. Each turns a request into one call on the client and its answer
// into a response; access control is in guard.ts.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { faultAt } from "../protocol/boundary.ts";
import { Fault } from "../protocol/fault.ts";
import { PARENT_HEADER, parentFromHeader } from "../session/parent.ts";
import type { Client, ToolSet } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import type { Bodies } from "./bodies.ts";
import { type AccessPolicy, type Admission, admit } from "./guard.ts";
import { openApi } from "./openapi.ts";
import { eventFrames, type Frame, outputFrames, sse } from "./streams.ts";
import { revoked, type TokenUse } from "./token-uses.ts";
import type { TokenRecord } from "./tokens.ts";

export interface HttpParts {
	readonly client: Client;
	readonly version: string;
	/** The tools that can be called. */
	readonly sets: readonly ToolSet[];
	/** The caller, by token. */
	caller(token: TokenRecord): Caller;
	/** The MCP endpoint, where there is one. */
	readonly mcp?: {
		fetch(
			request: Request,
			access: { tokenId: string; caller: Caller; readOnly: boolean; bodyBytes: number },
		): Promise<Response>;
		/** Ends the connections of tokens that are no longer valid. */
		endRevoked(isValid: (tokenId: string) => boolean): void;
	};
}

/** Who may come in, and what is in progress. */
interface Access extends AccessPolicy {
	/** Where we listen. */
	readonly url: string;
	/** Counts a request; throws when its token has too many. */
	begin(token: TokenRecord, incoming: IncomingMessage, outgoing: ServerResponse): TokenUse;
}

interface AppParts {
	readonly access: Access;
	readonly bodies: Bodies;
	readonly limits: { readonly streamStallMs: number };
}

type Env = { Bindings: HttpBindings; Variables: { token: TokenRecord; use: TokenUse } };

const JSON_TYPE = { "content-type": "application/json" };

/** Answers before any route: Host, Origin, token. */
function guard(access: Access): MiddlewareHandler<Env> {
	return async (c, next) => {
		const admission = admit(
			{
				path: c.req.path,
				host: c.req.header("host"),
				origin: c.req.header("origin"),
				authorization: c.req.header("authorization"),
				protocols: undefined,
			},
			access,
		);
		if ("refused" in admission)
			return c.json(refusal(admission).toJSON(), admission.refused, { "www-authenticate": "Bearer" });
		if (admission.token !== null) {
			c.set("token", admission.token);
			c.set("use", access.begin(admission.token, c.env.incoming, c.env.outgoing));
		}
		return next();
	};
}

export function refusal({ why }: Extract<Admission, { refused: number }>): Fault {
	return new Fault("not_allowed", { what: `This request (${why})` });
}

export function resumeAt(text: string | undefined): number | undefined {
	const value = Number(text);
	return text !== undefined && text !== "" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

export function httpApp(parts: HttpParts, { access, bodies, limits }: AppParts): Hono<Env> {
	const { client, version, sets } = parts;
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

	app.get("/healthz", (c) => c.json({ ok: true }));
	// Neither changes while we run.
	let tools: string | undefined;
	let description: string | undefined;
	app.get("/v1/tools", async (c) => {
		tools ??= JSON.stringify({ tools: await client.tools(sets) });
		return c.body(tools, 200, JSON_TYPE);
	});
	app.get("/v1/openapi.json", async (c) => {
		// Not the address of the request: that may name another host.
		description ??= JSON.stringify(openApi(await client.tools(sets), version, access.url));
		return c.body(description, 200, JSON_TYPE);
	});

	app.post("/v1/tools/:name", async (c) => {
		const token = c.get("token");
		const name = c.req.param("name");
		const cards = await client.tools(sets);
		const card = cards.find((one) => one.name === name);
		if (card === undefined) throw new Fault("unknown_tool", { tool: name, tools: cards.map((one) => one.name) });
		if (token.readOnly && card.effect !== "reads")
			throw new Fault("not_allowed", { what: `Calling \`${name}\` with a read-only token` });
		// A form post from another site cannot have this type without a preflight, which we never allow.
		if (!/^application\/json\b/.test(c.req.header("content-type") ?? ""))
			throw new Fault("bad_input", { problems: ["the body must be JSON, with Content-Type: application/json"] });
		const body = (await bodies.read(c.env.incoming)).toString("utf8");
		let input: unknown;
		try {
			input = body === "" ? {} : JSON.parse(body);
		} catch (error) {
			throw new Fault("bad_input", { problems: [`the body is not JSON (${(error as Error).message})`] });
		}
		const caller = callerOf(parts, token, c.req.header(PARENT_HEADER));
		const answer = await client.call(name, input, { caller, signal: untilGone(c.env.outgoing) });
		return prefersText(c.req.header("accept")) ? c.text(answer.text) : c.json(answer.facts);
	});

	app.get("/v1/sessions", async (c) => {
		const status = c.req.query("status");
		const { facts } = await client.call<string>("list", status ? { status } : {}, {
			caller: observer(parts, c.get("token")),
		});
		return c.json(facts);
	});
	app.get("/v1/sessions/:id", async (c) => {
		const input = { session: c.req.param("id"), view: "screen" } as const;
		const answer = await client.call("read", input, { caller: observer(parts, c.get("token")) });
		return prefersText(c.req.header("accept")) ? c.text(answer.text) : c.json(answer.facts);
	});

	// To join a session: show this, then continue with the output from its offset.
	app.get("/v1/sessions/:id/snapshot", async (c) => c.json(await client.snapshot(c.req.param("id"))));
	app.get("/v1/sessions/:id/output", (c) => {
		const from = resumeAt(c.req.header("last-event-id")) ?? resumeAt(c.req.query("from")) ?? 0;
		return stream(c, (signal) => outputFrames(client.output(c.req.param("id"), { from, signal }), from));
	});
	app.get("/v1/events", (c) => {
		const afterSeq = resumeAt(c.req.header("last-event-id")) ?? resumeAt(c.req.query("after"));
		return stream(c, (signal) => eventFrames(client.events({ ...(afterSeq !== undefined && { afterSeq }), signal })));
	});
	const stream = (c: Context<Env>, frames: (signal: AbortSignal) => AsyncIterable<Frame>) => {
		const stop = new AbortController();
		c.get("use").end = () => stop.abort(revoked());
		const headersOnly = c.req.method === "HEAD";
		return sse(frames(stop.signal), { outgoing: c.env.outgoing, stop, headersOnly, stallMs: limits.streamStallMs });
	};

	if (parts.mcp !== undefined) {
		const { mcp } = parts;
		app.all("/mcp", async (c) => {
			const token = c.get("token");
			const caller = callerOf(parts, token, c.req.header(PARENT_HEADER));
			const { incoming } = c.env;
			let bodyBytes = 0;
			if (c.req.method === "POST") {
				const body = await bodies.read(incoming);
				bodyBytes = body.length;
				Object.assign(incoming, { rawBody: body }); // where the request takes its body from
			}
			return mcp.fetch(c.req.raw, { tokenId: token.id, caller, readOnly: token.readOnly, bodyBytes });
		});
	}
	return app;
}

/** The parent comes from the request only: the daemon's own environment belongs to another conversation. */
function callerOf(parts: HttpParts, token: TokenRecord, parent: string | undefined): Caller {
	return { ...parts.caller(token), parent: parentFromHeader(parent) };
}

/** Aborted when the client goes away before its answer was written. */
function untilGone(outgoing: ServerResponse): AbortSignal {
	const gone = new AbortController();
	outgoing.once("close", () => {
		if (!outgoing.writableFinished) gone.abort();
	});
	return gone.signal;
}

/** Reading through a route does not change what is new to the token's own calls. */
function observer(parts: HttpParts, token: TokenRecord): Caller {
	const caller = parts.caller(token);
	return { ...caller, owner: `${caller.owner}:observer`, sessionsOf: caller.owner };
}

function prefersText(accept = ""): boolean {
	return accept.includes("text/plain") && !accept.includes("application/json");
}
