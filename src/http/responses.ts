// The responses that each connection has open, in the order of its requests.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

const open = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * A response closes with its connection: node says so only to the first of several pipelined requests, and the others
 * would go on for a client that is gone.
 */
export function closeWith(socket: Socket, response: ServerResponse): void {
	const waiting = open.get(socket) ?? new Set();
	if (!open.has(socket)) {
		open.set(socket, waiting);
		socket.once("close", () => {
			for (const one of [...waiting]) one.destroy().emit("close");
		});
	}
	waiting.add(response);
	response.once("close", () => waiting.delete(response));
}
