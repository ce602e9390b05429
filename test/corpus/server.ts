// A server on loopback for one case: what a client of the corpus talks to.

import { createServer, type Socket } from "node:net";
import type { Place } from "./case.ts";

/** Calls `answer` for each connection; returns the port. Connections end with the case, also those that nobody reads. */
export async function serve({ defer }: Pick<Place, "defer">, answer: (socket: Socket) => void): Promise<number> {
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket);
		socket.on("error", () => {}); // the client is killed while it waits
		answer(socket);
	}).listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	defer(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	return (server.address() as { port: number }).port;
}
