// The daemon's socket: reads requests, calls the Client, writes the responses.
// No behaviour of its own; a client that goes away ends its waits and nothing else.

import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import type { Duplex } from "node:stream";
import { faultAt, guarded } from "../protocol/boundary.ts";
import { Fault } from "../protocol/fault.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { Connections } from "../pty/connections.ts";
import { foreignPeer } from "../pty/native.ts";
import { onAbort, until, within } from "../pty/wait.ts";
import { limits, type Options } from "../session/options.ts";
import type { Client } from "../tools/client.ts";
import { type Authority, authorityOf, type Callers } from "./callers.ts";
import { ClientPool } from "./client-pool.ts";
import type { FleetControl } from "./fleet-control.ts";
import type { HttpControl } from "./http-control.ts";
import { writeMessage } from "./messages.ts";
import { RequestQueue } from "./request-queue.ts";
import { parseRequest } from "./requests.ts";
import { Readings, StreamWindow } from "./stream-window.ts";
import type { Done, More, Question, Request, Response } from "./wire.ts";

/** At a stop, clients have this long to read the responses that are on their way. */
const UNREAD_AT_STOP_MS = 1000;

/** In one message of a list. */
const LIST_ROWS = 1000;

export interface ServerParts {
	readonly client: Client;
	/** Who calls, and what it may ask for. */
	readonly callers: Callers;
	readonly version: string;
	readonly limits: Pick<Options, "connections" | "callsPerConnection">;
	/** Asked to stop, with the sessions or leaving them running. */
	readonly onStop: (options: { sessions: boolean; replace: boolean }) => Promise<Pick<Done, "left" | "http">>;
	/** Aborted when the daemon stops: the reason is "stopped" or "replaced". */
	readonly stopping: AbortSignal;
	/** Null where this process serves no HTTP. */
	readonly http: HttpControl | null;
	/** Null where this process can be no member of a fleet. */
	readonly fleet: FleetControl | null;
	/** Called whenever the number of clients changes. */
	readonly onClients: (count: number) => void;
	/** A connection was ended for this reason. */
	readonly onDropped: (reason: string) => void;
}

export interface ServedBy {
	readonly authority: Authority;
	/** Left out: that of all others. */
	readonly client?: Client;
	/** Of each stream, sent beyond what its reader has taken: more where that takes longer to hear of. */
	readonly streamBytes?: number;
}

export interface DaemonServer {
	/**
	 * Serves a connection that came in another way. How many of these there are is for whoever brings them to bound; they take
	 * nothing of what the clients of the socket may have.
	 */
	serve(connection: Duplex, by: ServedBy): void;
	/** No connection is accepted from then on, and those that are open end once `answered` settles. */
	stop(answered?: Promise<unknown>): Promise<void>;
}

/** Listens on a socket that only this user can open. */
export async function listen(path: string, parts: ServerParts): Promise<DaemonServer> {
	const { connections, callsPerConnection } = parts.limits;
	const local = new ClientPool({
		connections: new Connections({ connections, strangers: Math.ceil(connections / 2) }),
		callsPerConnection,
	});
	const brought = new ClientPool({ connections: null, callsPerConnection });
	const clients = () => [...local.clients, ...brought.clients];
	const count = guarded("counting clients", () => parts.onClients(local.clients.size + brought.clients.size));
	let isStopped = false;
	const accept = (connection: Duplex, serving: Serving) => {
		if (isStopped) return void connection.destroy();
		serving.pool.accept(connection);
		connection.on("close", count);
		serve(connection, serving);
		count();
	};
	const server = createServer(
		guarded(
			"a connection to the daemon's socket",
			(socket) => {
				if (foreignPeer(socket) !== null) return void socket.destroy();
				const { callers } = parts;
				const authority = callers.identify(socket).then((by) => authorityOf(callers, by));
				accept(socket, { parts, pool: local, authority, streamBytes: limits.streamBytes });
			},
			(_fault, socket) => socket.destroy(),
		),
	);
	const umask = process.umask(0o077); // the socket is 0600 from its first moment
	try {
		server.listen(path);
		await once(server, "listening");
	} finally {
		process.umask(umask);
	}
	chmodSync(path, 0o600);
	return {
		serve: (connection, { authority, client = parts.client, streamBytes = limits.streamBytes }) =>
			accept(connection, {
				parts: { ...parts, client },
				pool: brought,
				authority: Promise.resolve(authority),
				streamBytes,
			}),
		stop: async (answered) => {
			isStopped = true;
			const closed = once(server, "close");
			server.close();
			await answered;
			const gone = Promise.all(clients().map(endSoon));
			await within(UNREAD_AT_STOP_MS, "reading the last answers", Promise.all([closed, gone])).catch(() => {
				for (const connection of clients()) connection.destroy();
			});
			await closed;
		},
	};
}

/**
 * Ends it once the responses that wait are sent; settles when the client has closed it, too. To close it here would make
 * the client's next write fail, and a socket whose write has failed gives up what it has not read yet: its answers.
 */
async function endSoon(connection: Duplex): Promise<void> {
	if (connection.closed) return;
	const closed = once(connection, "close").catch(() => {}); // broken meanwhile
	connection.end();
	await closed;
}

/** Requests that no program can delay. */
const isQuick = (question: Question): boolean =>
	["hello", "tools", "snapshot", "status"].includes(question.do) ||
	(question.do === "call" && ["read", "list"].includes(question.tool));

interface Serving {
	readonly parts: ServerParts;
	readonly pool: ClientPool;
	readonly authority: Promise<Authority>;
	readonly streamBytes: number;
}

function serve(socket: Duplex, { parts, pool, authority, streamBytes }: Serving): void {
	const { halves } = pool;
	authority.catch(() => {}); // told to each request
	const running = new Map<number, { readonly controller: AbortController; readonly window: StreamWindow }>();
	const end = ({ controller, window }: { controller: AbortController; window: StreamWindow }) => {
		controller.abort();
		window.close();
	};
	const drop = (reason: string) => {
		if (socket.destroyed) return;
		parts.onDropped(reason);
		socket.destroy();
	};
	const queue = new RequestQueue(socket, pool.queue, {
		onLine: (value) => {
			if (socket.writableEnded) return; // we are stopping: nobody would hear of it
			const parsed = parseRequest(value);
			if ("request" in parsed) take(parsed.request);
			else if ("fault" in parsed) respond({ id: parsed.id, fault: parsed.fault.toJSON() });
			else drop(parsed.problem);
		},
		onBad: drop,
		onHeld: (bytes) => halves.hold(drop, bytes),
	});
	const [live, drawn] = [new Readings(), new Readings()];
	let isUnread = false;
	/** Writes one response and returns its size. A client that does not read its responses is not read from, either. */
	const respond = (response: Response): number => {
		const bytes = writeMessage(socket, response, limits.answerValues);
		if (bytes === null) throw new Fault("too_large", { what: "The answer", limit: limits.frameBytes });
		if (socket.writableLength > limits.unreadBytes && !isUnread) {
			isUnread = true;
			void within(limits.unreadMs, "reading", queue.drained()).then(
				() => {
					isUnread = false;
				},
				() => drop("a client that does not read its answers"),
			);
		}
		return bytes;
	};
	socket.on("close", () => {
		for (const call of running.values()) end(call);
		pool.open -= running.size;
		running.clear();
		halves.hold(drop, 0);
	});
	const run = ({ id, ...question }: Question & { readonly id: number }) => {
		const over = pool.begin(socket);
		const call = { controller: new AbortController(), window: new StreamWindow(streamBytes) };
		running.set(id, call);
		pool.open++;
		let read = () => {};
		const turn = async () => {
			read();
			read = await (question.do === "drawn" ? drawn : live).turn();
			await queue.drained();
			return read;
		};
		const more = async (value: More) => {
			await queue.drained();
			call.window.sent(respond({ id, more: value }));
			read();
			await call.window.room();
		};
		const start = () =>
			admitted(question as Question, parts, { authority, signal: call.controller.signal, turn, more })
				.then(async (done) => {
					await queue.drained();
					respond({ id, done });
				})
				// Also where the answer is too large or cannot be written as JSON.
				.catch((error: unknown) => void respond({ id, fault: faultAt(`the request "${question.do}"`, error).toJSON() }))
				.catch((error: unknown) => drop(faultAt("a response", error).message))
				.finally(() => {
					read();
					if (running.delete(id)) pool.open--;
					over();
				});
		queue.add({ quick: isQuick(question as Question), start });
	};
	const take = (request: Request) => {
		const { id } = request;
		const known = running.get(id);
		const refuse = (fault: Fault) => void respond({ id, fault: fault.toJSON() });
		if (request.do === "cancel") {
			if (known !== undefined) end(known);
		} else if (request.do === "took") known?.window.taken(request.bytes);
		else if (known !== undefined) refuse(new Fault("bad_input", { problems: [`id: ${id} is in use`] }));
		else {
			const limit = pool.mostOpen;
			if (running.size < limit) run(request);
			else refuse(new Fault("too_many_calls", { what: "calls of this client", limit }));
		}
	};
}

interface Asking {
	readonly authority: Promise<Authority>;
	readonly signal: AbortSignal;
	/** Awaited before something large is read or drawn; it lasts until that is sent. */
	readonly turn: () => Promise<() => void>;
	readonly more: (value: More) => Promise<void>;
}

/** The answer to what this caller may ask for. */
async function admitted(question: Question, parts: ServerParts, { authority, ...asking }: Asking): Promise<Done> {
	const by = await authority;
	const allowed = await by.admit(question);
	const hears = by.hearing();
	const more = async (value: More) => {
		const isForOthers = "event" in value && "session" in value.event && !(await hears(value.event));
		if (!isForOthers) await asking.more(value);
	};
	const done = await answer(allowed, parts, { ...asking, more });
	return by.told(question, done);
}

async function answer(
	question: Question,
	{ client, version, onStop, http, fleet, stopping }: ServerParts,
	{ signal, turn, more }: Omit<Asking, "authority">,
): Promise<Done> {
	signal.throwIfAborted(); // cancelled before its turn
	switch (question.do) {
		case "hello":
			return { hello: { version, pid: process.pid } };
		case "call": {
			const { tool, input, caller, answerWithinMs, sets } = question;
			const offered = sets === undefined ? {} : { sets };
			const options = { signal, caller, ...(answerWithinMs !== undefined && { answerWithinMs }), ...offered };
			return { answer: await client.call(tool, input, options) };
		}
		case "tools":
			return { tools: await client.tools(question.sets) };
		case "events":
			for await (const event of client.events({ afterSeq: question.afterSeq, signal })) await more({ event });
			return {};
		case "output":
			for await (const chunk of client.output(question.session, { from: question.from, signal, turn })) {
				await more(chunk);
			}
			return {};
		case "view":
			for await (const chunk of client.view(question.session, { signal, turn })) await more(chunk);
			return {};
		case "drawn": {
			let offset = 0;
			for await (const bytes of client.drawn(question.session, { ...question, signal, turn })) {
				await more({ offset, bytes });
				offset += bytes.length;
			}
			return {};
		}
		case "act": {
			const { session, act, caller } = question;
			return { person: await client.act(session, act, { caller }) };
		}
		case "drivers":
			for await (const driver of client.drivers(question.session, { lease: question.lease, signal }))
				await more({ driver });
			return {};
		case "snapshot": {
			const { session, screenOnly } = question;
			return { snapshot: await client.snapshot(session, { ...(screenOnly !== undefined && { screenOnly }) }) };
		}
		case "people": {
			const { decides, scope = null } = question;
			for await (const change of client.people({ decides, scope, signal }))
				for (const piece of inPieces(change)) await more(piece);
			return {};
		}
		case "approvals":
			return { approvals: await client.approvals() };
		case "decide":
			return { approvals: [await client.decide(question.approval, question.decision)] };
		case "status":
			return { status: await client.status() };
		case "fleet": {
			if (fleet === null)
				throw new Fault("not_supported", { what: "A fleet in this program", instead: "Use its daemon." });
			if (question.act === "join") return { fleet: await fleet.join(question.wish) };
			if (question.act === "leave") await fleet.leave();
			if (question.act === "forget") return { forgotten: await fleet.forget(question.host) };
			return { fleet: fleet.status() };
		}
		case "stop":
			return onStop({ sessions: question.sessions, replace: question.replace === true });
		case "http": {
			if (http === null) {
				throw new Fault("not_supported", { what: "HTTP in this program", instead: "Run `dialtone serve`." });
			}
			const lease = await http.open(question);
			const { url, pinned } = lease;
			if (question.keep !== "hold") return { http: { url, pinned } };
			try {
				await more({ http: { url } });
				await until(() => signal.aborted || stopping.aborted, onAbort(signal), onAbort(stopping));
			} finally {
				await lease.release();
			}
			return stopping.aborted ? { stopping: stopping.reason } : {};
		}
	}
}

/** A long list in messages that are not too large. */
function* inPieces(change: ListChange): Generator<More> {
	const { sessions } = change;
	for (let at = 0; at === 0 || at < sessions.length; at += LIST_ROWS) {
		const people = { ...change, sessions: sessions.slice(at, at + LIST_ROWS) };
		yield at + LIST_ROWS < sessions.length ? { people, isPart: true } : { people };
	}
}
