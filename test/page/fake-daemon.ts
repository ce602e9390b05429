// A daemon as the page sees it, whose sessions say and ask what a test wants: for what a real
// program does too seldom. It keeps every message that the page sends.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import type { FleetSeen } from "../../src/protocol/session-list.ts";
import type { PersonSession } from "../../web/live/person-session.ts";
import { sampleSession } from "../../web/live/sample-session.ts";

const PAGE = join(import.meta.dirname, "../../dist/web");
const TYPES: Readonly<Record<string, string>> = {
	".html": "text/html",
	".js": "text/javascript",
	".css": "text/css",
	".svg": "image/svg+xml",
};
const POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; connect-src 'self'";

interface FakeSession {
	facts: PersonSession;
	screen: string;
	offset: number;
}

export class FakeDaemon {
	/** What the page sent over its terminals, but for how far it has drawn. */
	readonly received: { readonly type: string; readonly text?: string; readonly id?: string }[] = [];
	readonly #sessions = new Map<string, FakeSession>();
	#fleet: FleetSeen | null = null;
	readonly #lists = new Set<ServerResponse>();
	readonly #terminals = new Map<WebSocket, FakeSession>();
	readonly #server = createServer((request, response) => this.#answer(request, response));
	readonly #sockets = new WebSocketServer({ server: this.#server });

	async listen(): Promise<string> {
		this.#sockets.on("connection", (socket, { url = "" }) => this.#terminal(socket, namedIn(url)));
		await new Promise<void>((listening) => this.#server.listen(0, "127.0.0.1", listening));
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
	}

	/** What it says of the fleet from now on; null: it is in none. */
	fleet(seen: FleetSeen | null): void {
		this.#fleet = seen;
		this.#list({ full: true, sessions: this.#facts() });
	}

	session(name: string, screen: string, facts: Parameters<typeof sampleSession>[0] = {}): void {
		this.#sessions.set(name, {
			facts: sampleSession({ session: name, name, ...facts }),
			screen,
			offset: screen.length,
		});
	}

	change(name: string, facts: Parameters<typeof sampleSession>[0]): void {
		const session = this.#sessions.get(name)!;
		session.facts = { ...session.facts, ...facts } as PersonSession;
		this.#list({ full: false, sessions: [session.facts] });
	}

	print(name: string, text: string): void {
		const session = this.#sessions.get(name)!;
		const bytes = Buffer.from(text);
		const frame = Buffer.alloc(8 + bytes.length);
		frame.writeBigUInt64LE(BigInt(session.offset));
		bytes.copy(frame, 8);
		session.offset += bytes.length;
		for (const [socket, shown] of this.#terminals) if (shown === session) socket.send(frame);
	}

	/** All connections break, as when a daemon dies; new ones are accepted. */
	dropConnections(): void {
		for (const socket of this.#terminals.keys()) socket.terminate();
		for (const list of this.#lists) list.destroy();
	}

	async close(): Promise<void> {
		this.dropConnections();
		this.#server.closeAllConnections();
		await new Promise((closed) => this.#server.close(closed));
	}

	#answer({ url = "/" }: IncomingMessage, response: ServerResponse): void {
		const { pathname } = new URL(url, "http://page");
		const json = (value: object, status = 200) =>
			response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
		const session = this.#sessions.get(namedIn(pathname));
		if (pathname === "/v1/watch") {
			response.writeHead(200, { "content-type": "text/event-stream" });
			this.#lists.add(response);
			response.on("close", () => this.#lists.delete(response));
			this.#list({ full: true, sessions: this.#facts() });
		} else if (pathname === "/v1/me") json({ role: "admin", name: "ada", session: null });
		else if (session !== undefined && pathname.endsWith("/snapshot")) json(snapshotOf(session));
		else if (session !== undefined && pathname.endsWith("/timeline"))
			json({ startedAt: session.facts.createdAt, endedAt: null, durationMs: 1000, cols: 80, rows: 24, marks: [] });
		else if (pathname === "/" || pathname.startsWith("/assets/")) {
			const file = join(PAGE, pathname === "/" ? "index.html" : pathname);
			const headers = { "content-type": TYPES[extname(file)], "content-security-policy": POLICY };
			response.writeHead(200, headers).end(readFileSync(file));
		} else json({ fault: "not_supported", message: `${pathname} is not faked`, next: "" }, 404);
	}

	#facts(): readonly PersonSession[] {
		return [...this.#sessions.values()].map(({ facts }) => facts);
	}

	#list(change: { readonly full: boolean; readonly sessions: readonly PersonSession[] }): void {
		const fleet = this.#fleet === null ? {} : { fleet: this.#fleet };
		const data = JSON.stringify({ now: Date.now(), removed: [], ...change, ...fleet });
		for (const list of this.#lists) list.write(`event: sessions\ndata: ${data}\n\n`);
	}

	#terminal(socket: WebSocket, id: string): void {
		const session = this.#sessions.get(id)!;
		const says = (message: object) => socket.send(JSON.stringify(message));
		const driver = (mine: boolean) =>
			says({
				type: "driver",
				driver: mine ? { kind: "person", who: "ada", since: 1, epoch: 1 } : { kind: "agent" },
				mine,
				lease: mine ? "lease" : null,
			});
		this.#terminals.set(socket, session);
		socket.on("close", () => this.#terminals.delete(socket));
		says({ type: "snapshot", ...snapshotOf(session) });
		driver(false);
		socket.on("message", (data) => {
			const message = JSON.parse(String(data)) as FakeDaemon["received"][number];
			if (message.type !== "took") this.received.push(message);
			if (message.type === "take") driver(true);
			else if (message.type === "hand-back") driver(false);
			else if (message.id !== undefined) says({ type: "typed", id: message.id });
		});
	}
}

/** The session that an address names. */
const namedIn = (path: string) => decodeURIComponent(path.split("/")[3] ?? "");

const snapshotOf = ({ facts: { cols, rows }, screen, offset }: FakeSession) => ({
	content: screen,
	cols,
	rows,
	offset,
});
