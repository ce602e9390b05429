// Clients that connect and vanish in mid-message, in a process of their own, so that the honest ones are not slowed by
// making them: `vanish.ts '{"clients":1000,…}'`.

import { type Connection, play } from "../fuzz/connection.ts";
import { Random } from "../fuzz/random.ts";
import { VICTIM } from "../fuzz/tool-calls.ts";

export interface VanishOptions {
	readonly clients: number;
	readonly atOnce: number;
	readonly seed: number;
	readonly socketPath: string;
	readonly host: string;
	readonly token: string;
}

const options = JSON.parse(process.argv[2]!) as VanishOptions;
const random = new Random(options.seed);
const caller = { owner: "vanishing", cwd: "/", env: { PATH: "/usr/bin:/bin" } };
const call = (tool: string, input: object) => ({ do: "call", tool, input, caller });

const REQUESTS: readonly object[] = [
	{ do: "hello", version: "0.1.0" },
	call("list", {}),
	call("read", { session: VICTIM, view: "screen" }),
	call("send", { session: VICTIM, text: "x".repeat(3000), submit: true }),
	call("wait", { session: VICTIM, until: { text: "never", only: true }, timeoutMs: 60_000 }),
	{ do: "output", session: VICTIM, from: 0 },
	{ do: "events" },
	{ do: "snapshot", session: VICTIM },
	{ do: "status" },
];

function onSocket(): string {
	const requests = Array.from({ length: 1 + random.int(4) }, (_, id) => ({ ...random.pick(REQUESTS), id }));
	return requests.map((request) => `${JSON.stringify(request)}\n`).join("");
}

function overHttp(): string {
	const { tool, input } = random.pick([
		{ tool: "list", input: {} },
		{ tool: "read", input: { session: VICTIM } },
		{ tool: "wait", input: { session: VICTIM, until: { text: "never", only: true }, timeoutMs: 60_000 } },
	]);
	const body = JSON.stringify(input);
	const common = `Host: ${options.host}\r\nAuthorization: Bearer ${options.token}\r\n`;
	const upgrade =
		"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
	const stream = random.pick(["/v1/events", `/v1/sessions/${VICTIM}/output`]);
	return random.pick([
		`POST /v1/tools/${tool} HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
		`GET /v1/sessions HTTP/1.1\r\n${common}\r\n`,
		`GET ${stream} HTTP/1.1\r\n${common}\r\n`,
		`GET ${stream} HTTP/1.1\r\n${common}${upgrade}\r\n\x89\x80\x00\x00\x00\x00`,
	]);
}

async function vanishing(): Promise<void> {
	const [host, port] = options.host.split(":") as [string, string];
	const socket = random.chance(0.5);
	const text = socket ? onSocket() : overHttp();
	const cut = random.int(text.length + 1);
	const middle = random.int(cut + 1);
	const connection: Connection = {
		pieces: [text.slice(0, middle), text.slice(middle, cut)],
		way: random.pick(["destroy", "reset", "wait", "end"]),
	};
	await play(connection, socket ? { path: options.socketPath } : { host, port: Number(port) }, {});
}

let left = options.clients;
await Promise.all(
	Array.from({ length: options.atOnce }, async () => {
		while (left-- > 0) await vanishing();
	}),
);
