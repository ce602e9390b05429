// The daemon's socket: reads requests, calls the Client, writes the responses.
// No behaviour of its own; a client that goes away ends its waits and nothing else.

import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { faultAt, guarded } from "../protocol/boundary.ts";
import { Fault } from "../protocol/fault.ts";
import type { Client } from "../tools/client.ts";
import { parseRequest } from "./requests.ts";
import { type Done, type More, type Question, type Request, type Response, readLines, writeLine } from "./wire.ts";

/** A client that leaves this much of its answers unread is disconnected. */
const MAX_UNREAD_BYTES = 32 << 20;

export interface ServerParts {
	readonly client: Client;
	readonly version: string;
	/** Asked to stop, with the sessions or leaving them running; returns those that could not be ended. */
	readonly onStop: (options: { sessions: boolean }) => Promise<readonly string[]>;
	/** Called whenever the number of clients changes. */
	readonly onClients: (count: number) => void;
	/** A connection was ended for this reason. */
	readonly onDropped: (reason: string) => void;
}

/** Listens on a socket that only this user can open; returns the function that stops it. */
export async function listen(path: string, parts: ServerParts): Promise<() => Promise<void>> {
	const clients = new Set<Socket>();
	const count = guarded("counting clients", () => parts.onClients(clients.size));
	const server = createServer(
		guarded(
			"a connection to the daemon's socket",
			(socket) => {
				clients.add(socket);
				socket.on("close", () => {
					clients.delete(socket);
					count();
				});
				serve(socket, parts);
				count();
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
	return async () => {
		const closed = once(server, "close");
		server.close();
		for (const socket of clients) socket.destroySoon(); // pending responses are sent first
		await closed;
	};
}

function serve(socket: Socket, parts: ServerParts): void {
	const running = new Map<number, AbortController>();
	const drop = (reason: string) => {
		if (socket.destroyed) return;
		parts.onDropped(reason);
		socket.destroy();
	};
	const respond = (response: Response) => {
		const roomLeft = writeLine(socket, response);
		if (socket.writableLength > MAX_UNREAD_BYTES) drop("a client that does not read its answers");
		return roomLeft;
	};
	socket.on("error", () => {}); // a client that died; `close` follows
	socket.on("close", () => {
		for (const controller of running.values()) controller.abort();
	});
	const run = ({ id, ...question }: Question & { readonly id: number }) => {
		const controller = new AbortController();
		running.set(id, controller);
		const more = async (value: More) => {
			if (!respond({ id, more: value })) await drained(socket, controller.signal);
		};
		answer(question as Question, parts, controller.signal, more)
			.then((done) => respond({ id, done }))
			// Also where the answer cannot be written as JSON.
			.catch((error: unknown) => respond({ id, fault: faultAt(`the request "${question.do}"`, error).toJSON() }))
			.catch((error: unknown) => drop(faultAt("a response", error).message))
			.finally(() => running.delete(id));
	};
	const take = (request: Request) => {
		if (request.do === "cancel") running.get(request.id)?.abort();
		else if (running.has(request.id)) {
			const fault = new Fault("bad_input", { problems: [`id: ${request.id} is in use`] });
			respond({ id: request.id, fault: fault.toJSON() });
		} else run(request);
	};
	readLines(
		socket,
		(value) => {
			const parsed = parseRequest(value);
			if ("request" in parsed) take(parsed.request);
			else if ("fault" in parsed) respond({ id: parsed.id, fault: parsed.fault.toJSON() });
			else drop(parsed.problem);
		},
		drop,
	);
}

async function answer(
	question: Question,
	{ client, version, onStop }: ServerParts,
	signal: AbortSignal,
	more: (value: More) => Promise<void>,
): Promise<Done> {
	switch (question.do) {
		case "hello":
			return { hello: { version, pid: process.pid } };
		case "call":
			return { answer: await client.call(question.tool, question.input, { signal, caller: question.caller }) };
		case "tools":
			return { tools: await client.tools(question.sets) };
		case "events": {
			const { afterSeq } = question;
			for await (const event of client.events(afterSeq === undefined ? { signal } : { afterSeq, signal })) {
				await more({ event });
			}
			return {};
		}
		case "output":
			for await (const chunk of client.output(question.session, { from: question.from, signal })) {
				await more(
					"gap" in chunk ? chunk : { offset: chunk.offset, base64: Buffer.from(chunk.bytes).toString("base64") },
				);
			}
			return {};
		case "type":
			await client.type(question.session, Buffer.from(question.base64, "base64"));
			return {};
		case "snapshot":
			return { snapshot: await client.snapshot(question.session) };
		case "status":
			return { status: await client.status() };
		case "stop":
			return { left: await onStop({ sessions: question.sessions }) };
	}
}

async function drained(socket: Socket, signal: AbortSignal): Promise<void> {
	if (socket.destroyed) return;
	// Removes the listener of the other event, or a long stream would leak one at every pause.
	const settled = new AbortController();
	const either = { signal: AbortSignal.any([signal, settled.signal]) };
	await Promise.race([once(socket, "drain", either), once(socket, "close", either)]).catch(() => {}); // gone: `signal` is aborted
	settled.abort();
}
