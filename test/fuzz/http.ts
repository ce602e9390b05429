// Cases for HTTP over raw TCP: requests to every declared route, and upgrades to every stream with frames behind
// them; mutated, pipelined, cut off.

import { openApi } from "../../src/http/openapi.ts";
import { toolCards } from "../../src/tools/catalogue.ts";
import { TOOL_SETS } from "../../src/tools/client.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { mutateBytes, mutateJson, nasty, nastyText, type Random } from "./random.ts";
import { toolCall, VICTIM } from "./tool-calls.ts";

const { paths } = openApi(toolCards(TOOL_SETS), "0", "") as { paths: Record<string, Record<string, object>> };
const ROUTES = Object.keys(paths);
const STREAMS = ROUTES.filter((path) => JSON.stringify(paths[path]).includes("event-stream"));
const METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "BREW"];
const TOKENS = [
	"Bearer %TOKEN%",
	"Bearer %TOKEN%",
	"Bearer %TOKEN%",
	"Bearer %READONLY%",
	"Bearer dt_wrong",
	"Basic x",
];

export type Header = readonly [name: string, value: string];

function address(path: string, random: Random): string {
	const id = random.chance(0.8) ? VICTIM : escaped(nastyText(random));
	const filled = path.replace("{id}", id);
	const query = `?${random.pick(["from", "after", "status"])}=${encodeURIComponent(String(random.pick([0, 5, -1, 1e20, "x"])))}`;
	const asked = random.chance(0.3) ? filled + query : filled;
	return random.chance(0.1) ? mutateBytes(Buffer.from(asked), random).toString("latin1").replaceAll(" ", "+") : asked;
}

/** A lone surrogate cannot be escaped. */
const escaped = (text: string) => encodeURIComponent(Buffer.from(text).toString("utf8"));

/** Request text from its parts, with something wrong now and then. */
export function requestText(
	{ method, path, headers, body }: { method: string; path: string; headers: readonly Header[]; body: string | null },
	random: Random,
): string {
	const all: Header[] = [["Host", "%HOST%"], ...headers];
	if (body !== null) {
		const length = random.chance(0.9)
			? Buffer.byteLength(body, "latin1")
			: random.pick([0, 1, 5_000_000, -1, "x", 1e20]);
		if (random.chance(0.85)) all.push(["Content-Length", String(length)]);
		else all.push(["Transfer-Encoding", random.pick(["chunked", "chunked, chunked", "gzip", "identity"])]);
	}
	if (random.chance(0.15))
		all.push([random.pick(["Expect", "Connection", "Origin", "Host", "Upgrade", "X-A"]), odd(random)]);
	if (random.chance(0.1)) all.splice(random.int(all.length), 1);
	const version = random.chance(0.95) ? "HTTP/1.1" : random.pick(["HTTP/1.0", "HTTP/2.0", "HTTP/9", ""]);
	const chunked = all.some(([name, value]) => name === "Transfer-Encoding" && value === "chunked");
	const sent = chunked && body !== null ? chunks(body, random) : (body ?? "");
	return `${method} ${path} ${version}\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${sent}`;
}

const odd = (random: Random) =>
	random.pick([
		"100-continue",
		"close",
		"keep-alive, Upgrade",
		"null",
		"http://evil.example",
		"a".repeat(9000),
		"\x01\x80",
	]);

function chunks(body: string, random: Random): string {
	const size = random.pick([body.length.toString(16), body.length.toString(16), "ffffffffffffffffff", "-1", "zz", "0"]);
	return `${size}\r\n${body}\r\n0\r\n\r\n`;
}

function request(random: Random): string {
	const path = random.pick(ROUTES);
	const isTool = path.startsWith("/v1/tools/");
	const { tool, input } = toolCall(random);
	const value = random.chance(0.3) ? mutateJson(input, random) : input;
	const json = Buffer.from(JSON.stringify(value) ?? "").toString("latin1");
	return requestText(
		{
			method: random.chance(0.85) ? (isTool ? "POST" : "GET") : random.pick(METHODS),
			path: address(isTool ? `/v1/tools/${tool}` : path, random),
			headers: [
				["Authorization", random.pick(TOKENS)],
				["Accept", random.pick(["*/*", "text/plain", "application/json", "text/event-stream"])],
				...(isTool ? ([["Content-Type", "application/json"]] as const) : []),
			],
			body: isTool ? (random.chance(0.1) ? mutateBytes(Buffer.from(json), random).toString("latin1") : json) : null,
		},
		random,
	);
}

export function httpCase(random: Random): Connection {
	let text = "";
	for (let i = 0; i <= random.int(3); i++) text += request(random);
	if (random.chance(0.15)) text = mutateBytes(Buffer.from(text, "latin1"), random).toString("latin1");
	return connectionOf(text, random);
}

/** A WebSocket frame, right or wrong: masked or not, any opcode, lengths that lie. */
function frame(random: Random): string {
	const payload = random.chance(0.5) ? random.bytes(random.int(200)) : Buffer.from(JSON.stringify(nasty(random)) ?? "");
	const opcode = random.pick([1, 2, 8, 9, 10, 0, random.int(16)]);
	const first = (random.chance(0.8) ? 0x80 : 0) | (random.chance(0.1) ? 0x70 : 0) | opcode;
	const size = Math.min(payload.length, 125);
	const length = random.chance(0.9) ? Buffer.from([0x80 | size]) : Buffer.from([0xff, ...random.bytes(8)]);
	return Buffer.concat([Buffer.from([first]), length, Buffer.alloc(4), payload.subarray(0, size)]).toString("latin1");
}

export function upgradeCase(random: Random): Connection {
	const headers: Header[] = [
		["Upgrade", random.chance(0.9) ? "websocket" : random.pick(["h2c", "websocket, x", ""])],
		["Connection", "Upgrade"],
		["Sec-WebSocket-Version", random.chance(0.9) ? "13" : random.pick(["8", "", "99"])],
		["Sec-WebSocket-Key", random.chance(0.9) ? "dGhlIHNhbXBsZSBub25jZQ==" : random.pick(["", "x"])],
	];
	if (random.chance(0.8))
		headers.push(
			random.chance(0.5)
				? ["Authorization", random.pick(TOKENS)]
				: ["Sec-WebSocket-Protocol", random.pick(["dialtone, %TOKEN%", "token.%READONLY%", "dialtone", "a, , b"])],
		);
	const path = random.chance(0.9) ? random.pick(STREAMS) : random.pick(ROUTES);
	let text = requestText({ method: "GET", path: address(path, random), headers, body: null }, random);
	if (random.chance(0.15)) text = mutateBytes(Buffer.from(text, "latin1"), random).toString("latin1");
	for (let i = 0; i < random.int(5); i++) text += frame(random);
	if (random.chance(0.1)) text += request(random);
	return connectionOf(text, random);
}
