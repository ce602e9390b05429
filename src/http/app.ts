// The routes. Each turns a request into one call on the client and its answer
// into a response; access control is in guard.ts.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { Fault } from "../protocol/fault.ts";
import { PARENT_HEADER, parentFromHeader } from "../session/parent.ts";
import type { Client, ToolSet } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";
import { type AccessPolicy, admit } from "./guard.ts";
import { openApi } from "./openapi.ts";
import { eventFrames, outputFrames, sse } from "./streams.ts";
import type { TokenRecord } from "./tokens.ts";

export interface HttpParts {
	readonly client: Client;
	readonly version: string;
	/** The tools that can be called. */
	readonly sets: readonly ToolSet[];
	/** The caller, by token. */
	caller(token: TokenRecord): Caller;
	/** The MCP endpoint, where there is one. */
	readonly mcp?: (request: Request, access: { caller: Caller; readOnly: boolean }) => Promise<Response>;
}

type Env = { Bindings: HttpBindings; Variables: { token: TokenRecord } };

// A write of 1 MiB, escaped in JSON, with a margin.
const MAX_BODY_BYTES = 4 << 20;

/** Answers before any route: Host, Origin, token. */
function guard(policy: AccessPolicy): MiddlewareHandler<Env> {
	return async (c, next) => {
		const admission = admit(
			{
				path: c.req.path,
				host: c.req.header("host"),
				origin: c.req.header("origin"),
				authorization: c.req.header("authorization"),
				protocols: undefined,
			},
			policy,
		);
		if ("refused" in admission) {
			const fault = new Fault("not_allowed", { what: `This request (${admission.why})` });
			return c.json(fault.toJSON(), admission.refused, { "www-authenticate": "Bearer" });
		}
		if (admission.token !== null) c.set("token", admission.token);
		return next();
	};
}

export function resumeAt(text: string | undefined): number | undefined {
	const value = Number(text);
	return text !== undefined && text !== "" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

export function httpApp(parts: HttpParts, policy: AccessPolicy): Hono<Env> {
	const { client, version, sets } = parts;
	const app = new Hono<Env>();

	app.use("*", guard(policy));
	app.onError((error, c) => {
		const fault = error instanceof Fault ? error : new Fault("internal", { problem: error.message });
		return c.json(fault.toJSON(), fault.status as 400);
	});
	app.notFound((c) => {
		const instead = "GET /v1/openapi.json lists what there is.";
		return c.json(new Fault("not_supported", { what: `${c.req.method} ${c.req.path}`, instead }).toJSON(), 404);
	});

	app.get("/healthz", (c) => c.json({ ok: true }));
	app.get("/v1/tools", async (c) => c.json({ tools: await client.tools(sets) }));
	app.get("/v1/openapi.json", async (c) =>
		c.json(openApi(await client.tools(sets), version, new URL(c.req.url).origin)),
	);

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
		const body = await bodyOf(c.env.incoming);
		if (body === null)
			return c.json(new Fault("bad_input", { problems: ["the body is larger than 4 MiB"] }).toJSON(), 413);
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
		const stop = new AbortController();
		return sse(outputFrames(client.output(c.req.param("id"), { from, signal: stop.signal }), from), stop);
	});
	app.get("/v1/events", (c) => {
		const afterSeq = resumeAt(c.req.header("last-event-id")) ?? resumeAt(c.req.query("after"));
		const stop = new AbortController();
		const events = client.events({ ...(afterSeq !== undefined && { afterSeq }), signal: stop.signal });
		return sse(eventFrames(events), stop);
	});

	if (parts.mcp !== undefined) {
		const { mcp } = parts;
		app.all("/mcp", (c) => {
			const token = c.get("token");
			const caller = callerOf(parts, token, c.req.header(PARENT_HEADER));
			return mcp(c.req.raw, { caller, readOnly: token.readOnly });
		});
	}
	return app;
}

/** The parent comes from the request only: the daemon's own environment belongs to another conversation. */
function callerOf(parts: HttpParts, token: TokenRecord, parent: string | undefined): Caller {
	return { ...parts.caller(token), parent: parentFromHeader(parent) };
}

/** Null when it is larger than allowed. Read from the socket: a web stream would cost as much as the call itself. */
function bodyOf(incoming: IncomingMessage): Promise<string | null> {
	if (Number(incoming.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return Promise.resolve(null);
	return new Promise((resolve, reject) => {
		const chunks: Buffer[] = [];
		let size = 0;
		incoming.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size <= MAX_BODY_BYTES) chunks.push(chunk);
		});
		incoming.once("end", () => resolve(size > MAX_BODY_BYTES ? null : Buffer.concat(chunks).toString("utf8")));
		incoming.once("close", () => reject(new Error("the request was cut off")));
	});
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
	return { ...caller, owner: `${caller.owner}:look` };
}

function prefersText(accept = ""): boolean {
	return accept.includes("text/plain") && !accept.includes("application/json");
}
