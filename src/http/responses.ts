// The requests of each connection: answered one after the other, in their order.
//
// A client may send thousands at once and read no answer. Each begins when the answer to the one before was taken,
// in a later turn of the event loop, so that others get theirs in between.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface ResponseQueue {
	/** The requests without an answer and what begins each, the oldest first. */
	readonly waiting: Map<ServerResponse, () => void>;
	begun: number;
}

const connections = new WeakMap<Socket, ResponseQueue>();

/**
 * Begins the request in its turn, with the number of those before it; closes the connection when more than `most` wait.
 *
 * A response closes with its connection: node says so only to the first of several pipelined requests, and the others
 * would go on for a client that is gone.
 */
export function queueRequest(response: ServerResponse, most: number, begin: (before: number) => void): void {
	const socket = response.req.socket;
	if (socket.destroyed) return; // node still delivers what it had read
	const queue = connections.get(socket) ?? watch(socket);
	const { waiting } = queue;
	if (waiting.size >= most) {
		refuse(socket);
		return;
	}
	const start = () => {
		if (!socket.destroyed) begin(queue.begun++);
	};
	waiting.set(response, start);
	response.once("close", () => {
		const [inProgress] = waiting.keys();
		waiting.delete(response);
		const [next] = waiting.values();
		if (next !== undefined && response === inProgress) setImmediate(next);
	});
	if (waiting.size === 1) start();
}

/** What node's parser calls with each request; 2 says that the rest of the input is not HTTP. */
interface Parser {
	onIncoming: () => number;
}

/** Node would make objects of all requests in what it has read, a thousand, unless its parser is stopped: 20 ms. */
function refuse(socket: Socket & { parser?: Parser | null }): void {
	if (socket.parser) socket.parser.onIncoming = () => 2;
	socket.destroy();
}

function watch(socket: Socket): ResponseQueue {
	const queue: ResponseQueue = { waiting: new Map(), begun: 0 };
	connections.set(socket, queue);
	socket.once("close", () => {
		for (const one of [...queue.waiting.keys()]) one.destroy().emit("close");
	});
	return queue;
}
