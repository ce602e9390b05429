// The only way out of a sandbox whose network is a list of hosts: an HTTP proxy on a unix socket.
//
// It takes CONNECT and plain requests for the hosts that are allowed, and resolves their names itself: a
// program inside has no resolver that could be used to talk, and a name that leads to this machine or
// its private networks is refused. With the daemon away nothing listens, and nothing gets out.

import { type LookupAddress, lookup } from "node:dns";
import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { BlockList, connect, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WaitScope, wait } from "../pty/wait.ts";

const MAX_CONNECTIONS = 128;
/** To send a request's header; to resolve a name; to connect. */
const SETUP_TIMEOUT_MS = 15_000;
/** Without a byte in either direction: long polls take minutes. */
const IDLE_TIMEOUT_MS = 10 * 60_000;
const DEFAULT_PORTS = [80, 443];

interface Rule {
	readonly host: string;
	/** `*.example.com`: any name below it, not itself. */
	readonly below: boolean;
	readonly ports: readonly number[];
}

interface Target {
	readonly host: string;
	readonly port: number;
}

class Refused extends Error {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/** What is not the public internet: RFC 6890, and what IPv6 can hide an IPv4 address in. */
const INTERNAL = new BlockList();
for (const [network, bits] of [
	["0.0.0.0", 8],
	["10.0.0.0", 8],
	["100.64.0.0", 10],
	["127.0.0.0", 8],
	["169.254.0.0", 16],
	["172.16.0.0", 12],
	["192.0.0.0", 24],
	["192.168.0.0", 16],
	["198.18.0.0", 15],
	["224.0.0.0", 3],
] as const)
	INTERNAL.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
	["::", 96],
	["::ffff:0:0", 96],
	["64:ff9b::", 96],
	["64:ff9b:1::", 48],
	["2002::", 16],
	["fc00::", 7],
	["fe80::", 10],
	["ff00::", 8],
] as const)
	INTERNAL.addSubnet(network, bits, "ipv6");

export class AllowProxy implements AsyncDisposable {
	readonly #server: Server;
	readonly #path: string;
	readonly #rules: readonly Rule[];
	readonly #sockets = new Set<Duplex>();

	private constructor(path: string, hosts: readonly string[]) {
		this.#path = path;
		this.#rules = hosts.map(parseRule);
		this.#server = createServer({ headersTimeout: SETUP_TIMEOUT_MS, requestTimeout: 0 });
		this.#server.maxConnections = MAX_CONNECTIONS;
		this.#server.on("connection", (socket) => this.#keep(socket));
		this.#server.on("connect", (message, socket, head) => void this.#tunnel(message, socket, head));
		this.#server.on("request", (message, response) => void this.#forward(message, response));
		this.#server.on("upgrade", (_, socket) => socket.destroy()); // inside a tunnel, or not at all
		this.#server.on("clientError", (_, socket) => socket.destroy());
	}

	/** Listens where an earlier one may have: its directory is ours alone. A rule that cannot be read throws. */
	static async listen(path: string, hosts: readonly string[]): Promise<AllowProxy> {
		const proxy = new AllowProxy(path, hosts);
		await rm(path, { force: true });
		await wait<void>([
			{
				start: (scope) => {
					proxy.#server.on("error", scope.fail).listen(path, () => scope.settle());
					scope.own(() => proxy.#server.off("error", scope.fail));
				},
			},
		]);
		await chmod(path, 0o600);
		return proxy;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const closed = wait<void>([{ start: ({ settle }) => this.#server.close(() => settle()) }]);
		for (const socket of this.#sockets) socket.destroy();
		await closed;
		await rm(this.#path, { force: true });
	}

	/** Also ends it after a silence, and when it fails. */
	#keep<T extends Socket>(socket: T): T {
		this.#sockets.add(socket);
		socket.on("close", () => this.#sockets.delete(socket));
		socket.on("error", () => socket.destroy());
		socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy());
		return socket;
	}

	async #tunnel(message: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
		try {
			const server = await this.#connected(parseTarget(message.url ?? ""));
			if (client.destroyed) return void server.destroy();
			client.write("HTTP/1.1 200 Connection established\r\n\r\n");
			server.write(head);
			client.pipe(server).pipe(client);
			client.on("close", () => server.destroy());
			server.on("close", () => client.destroy());
		} catch (error) {
			const { status, message: why } = refusal(error);
			client.end(`HTTP/1.1 ${status} Refused\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${why}\n`);
		}
	}

	async #forward(message: IncomingMessage, response: ServerResponse): Promise<void> {
		try {
			const url = URL.canParse(message.url ?? "") ? new URL(message.url!) : undefined;
			if (url?.protocol !== "http:") throw new Refused(400, "a proxy is asked for an absolute http:// address");
			const target = { host: hostOf(url.hostname), port: Number(url.port || 80) };
			const server = await this.#connected(target);
			const { "proxy-connection": _, "proxy-authorization": __, ...headers } = message.headers;
			const outgoing = request({
				createConnection: () => server,
				method: message.method ?? "GET",
				path: url.pathname + url.search,
				// Who is asked is who was checked, whatever the request says.
				headers: { ...headers, host: url.host, connection: "close" },
			});
			outgoing.on("response", (answer) => {
				response.writeHead(answer.statusCode ?? 502, answer.headers);
				answer.pipe(response);
			});
			outgoing.on("error", () => response.destroy());
			response.on("close", () => server.destroy());
			message.pipe(outgoing);
		} catch (error) {
			const { status, message: why } = refusal(error);
			response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`${why}\n`);
		}
	}

	async #connected(target: Target): Promise<Socket> {
		if (!this.#rules.some((rule) => allows(rule, target)))
			throw new Refused(403, `${target.host}:${target.port} is not among the hosts that this sandbox may reach`);
		const addresses = (await resolved(target.host)).filter((address) => this.#mayReach(address, target.port));
		const address = addresses[0];
		if (address === undefined)
			throw new Refused(403, `${target.host} is an address of this machine or of a private network`);
		const socket = this.#keep(connect({ host: address.address, port: target.port }));
		const start = (scope: WaitScope<Socket>) => {
			const fail = () => scope.fail(new Refused(502, `${target.host}:${target.port} cannot be reached`));
			socket.on("connect", () => scope.settle(socket)).on("close", fail);
			scope.after(SETUP_TIMEOUT_MS, () => socket.destroy());
			scope.own(() => socket.off("close", fail));
		};
		return wait([{ start }]);
	}

	/** An internal address must be named itself. */
	#mayReach({ address, family }: LookupAddress, port: number): boolean {
		const named = this.#rules.some((rule) => allows(rule, { host: address, port }));
		return named || !INTERNAL.check(address, family === 6 ? "ipv6" : "ipv4");
	}
}

function refusal(error: unknown): Refused {
	return error instanceof Refused ? error : new Refused(502, "the proxy could not connect");
}

/** `example.com`, `*.example.com`, either with `:port`; `[::1]:8080`. */
function parseRule(text: string): Rule {
	const { host, port } = split(text);
	const below = host.startsWith("*.");
	const name = below ? host.slice(2) : host;
	if (!isHost(name) || (below && isIP(name) !== 0)) throw new Error(`not a host: ${JSON.stringify(text)}`);
	return { host: name, below, ports: port === undefined ? DEFAULT_PORTS : [port] };
}

function parseTarget(text: string): Target {
	const { host, port } = split(text);
	if (!isHost(host) || port === undefined) throw new Refused(400, "a tunnel is asked for by host:port");
	return { host, port };
}

function split(text: string): { host: string; port: number | undefined } {
	const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
	return {
		host: hostOf(bracketed ?? plain ?? (isIP(text) ? text : "")),
		port: port === undefined ? undefined : Number(port),
	};
}

/** One spelling of each. */
function hostOf(text: string): string {
	const host = text
		.replace(/^\[|\]$/g, "")
		.replace(/\.$/, "")
		.toLowerCase();
	return isIP(host) === 6 ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host;
}

const isHost = (host: string) => isIP(host) !== 0 || (host.length <= 253 && /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host));

function allows(rule: Rule, { host, port }: Target): boolean {
	const matches = rule.below ? host.endsWith(`.${rule.host}`) && isIP(host) === 0 : host === rule.host;
	return matches && rule.ports.includes(port);
}

function resolved(host: string): Promise<readonly LookupAddress[]> {
	const start = ({ settle, fail, after }: WaitScope<readonly LookupAddress[]>) => {
		const failed = () => fail(new Refused(502, `${host} cannot be resolved`));
		after(SETUP_TIMEOUT_MS, failed);
		lookup(host, { all: true }, (error, addresses) => {
			if (error) failed();
			else settle(addresses.map(({ address, family }) => ({ address: hostOf(address), family })));
		});
	};
	return wait([{ start }]);
}
