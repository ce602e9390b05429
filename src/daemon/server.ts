// The daemon's socket: reads requests, calls the Client, writes the responses.
// No behaviour of its own; a client that goes away ends its waits and nothing else.

import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { Fault, type FaultJson } from "../protocol/fault.ts";
import { foreignPeer } from "../pty/native.ts";
import type { Client } from "../tools/client.ts";
import { type Done, type More, type Question, type Request, readLines, writeLine } from "./wire.ts";

export interface ServerParts {
	readonly client: Client;
	readonly version: string;
	/** Asked to stop, with the sessions or leaving them running; returns those that could not be ended. */
	readonly onStop: (options: { sessions: boolean }) => Promise<readonly string[]>;
	/** Called whenever the number of clients changes. */
	readonly onClients: (count: number) => void;
	readonly onProblem: (problem: unknown) => void;
}

/** Listens on a socket that only this user can open; returns the function that stops it. */
export async function listen(path: string, parts: ServerParts): Promise<() => Promise<void>> {
	const clients = new Set<Socket>();
	const server = createServer((socket) => {
		if (foreignPeer(socket) !== null) return void socket.destroy();
		clients.add(socket);
		parts.onClients(clients.size);
		socket.on("close", () => {
			clients.delete(socket);
			parts.onClients(clients.size);
		});
		serve(socket, parts);
	});
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
	socket.on("error", () => {}); // a client that died; `close` follows
	socket.on("close", () => {
		for (const controller of running.values()) controller.abort();
	});
	readLines<Request>(socket, (request) => {
		if (request.do === "cancel") {
			running.get(request.id)?.abort();
			return;
		}
		const { id } = request;
		const controller = new AbortController();
		running.set(id, controller);
		const more = async (value: More) => {
			if (!writeLine(socket, { id, more: value })) await drained(socket, controller.signal);
		};
		answer(request, parts, controller.signal, more)
			.then((done) => writeLine(socket, { id, done }))
			.catch((error: unknown) => writeLine(socket, { id, fault: faultOf(error, parts) }))
			.finally(() => running.delete(id));
	});
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

function faultOf(error: unknown, { onProblem }: ServerParts): FaultJson {
	if (error instanceof Fault) return error.toJSON();
	if ((error as Error | null)?.name !== "AbortError") onProblem(error);
	return new Fault("internal", { problem: error instanceof Error ? error.message : String(error) }).toJSON();
}

async function drained(socket: Socket, signal: AbortSignal): Promise<void> {
	if (socket.destroyed) return;
	// Removes the listener of the other event, or a long stream would leak one at every pause.
	const settled = new AbortController();
	const either = { signal: AbortSignal.any([signal, settled.signal]) };
	await Promise.race([once(socket, "drain", either), once(socket, "close", either)]).catch(() => {}); // gone: `signal` is aborted
	settled.abort();
}
