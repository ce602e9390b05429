// R4.9: a named secret is typed over HTTP and over MCP, and its program prints it back. Every stream that was open
// meanwhile, every answer about it afterwards and every byte on disk is searched for it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { until } from "../condition.ts";
import { Person } from "../http/person.ts";
import { RealServer } from "../http/real-server.ts";
import { Agent } from "../page/agent.ts";
import { needing } from "../programs.ts";
import { filesBelow } from "./files-below.ts";

const VALUE = "Kq4-tangled/Harbour+91";
/** All of it in base64, whatever precedes it. A beginning is not searched for: viewers may see one (docs/secrets.md). */
const IN_BASE64 = [0, 1, 2].map((before) =>
	Buffer.from("x".repeat(before) + VALUE)
		.toString("base64")
		.slice(Math.ceil((before * 8) / 6), Math.floor(((before + VALUE.length) * 8) / 6)),
);
const SPELLINGS = [VALUE, ...IN_BASE64];

const PRINTS = `
import base64, getpass, sys, time
p = getpass.getpass("Password: ")
def show(text, pause=0):
    for piece in (text if pause else [text]):
        sys.stdout.write(piece); sys.stdout.flush(); time.sleep(pause)
    sys.stdout.write("\\n")
show("in the open")
show("plain " + p)
show(p, 0.005)
show([p[:9], p[9:]], 0.15)
for k in range(3):
    show("base64 " + base64.b64encode(b"x" * k + p.encode()).decode())
show("all " + "printed")
input("next> ")
print(p, flush=True)
`;
/** Printed beside it: what is searched is not empty. */
const SHOWN = "in the open";

/** A stream that is kept as it comes. */
class Kept implements AsyncDisposable {
	text = "";
	readonly #stop = new AbortController();
	#reading: Promise<unknown> = Promise.resolve();

	/** Server-sent events; `data` of each is also kept decoded where it is base64. */
	static async sse(answering: (signal: AbortSignal) => Promise<Response>): Promise<Kept> {
		const kept = new Kept();
		const answer = await answering(kept.#stop.signal);
		expect(answer.status).toBe(200);
		kept.#reading = kept.#read(answer).catch(() => {}); // aborted
		return kept;
	}

	static async socket(url: string, protocols: string[], headers = {}): Promise<Kept> {
		const kept = new Kept();
		const socket = new WebSocket(url.replace("http", "ws"), protocols, { headers });
		kept.#stop.signal.addEventListener("abort", () => socket.terminate());
		let taken = 0;
		socket.on("message", (data: Buffer, isBinary: boolean) => {
			kept.text += (isBinary ? data.subarray(8) : data).toString("latin1");
			// The page's terminal is sent no more than the page says it took.
			if (isBinary) taken = Number(data.readBigUInt64LE()) + data.length - 8;
			if (url.endsWith("/terminal")) socket.send(JSON.stringify({ type: "took", offset: taken }));
		});
		await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
		socket.on("error", () => {}); // it is ended
		return kept;
	}

	async #read(answer: Response): Promise<void> {
		let raw = "";
		let decoded = "";
		for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
			raw += piece;
			const frames = [...raw.matchAll(/^data: ([\w+/]+=*)\n\n/gm)];
			decoded = frames.map(([, data]) => Buffer.from(data!, "base64").toString("latin1")).join("");
			this.text = `${raw}${decoded}`;
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stop.abort();
		await this.#reading;
	}
}

describe("R4.9 a secret that its program prints", needing("python3"), () => {
	let server: RealServer;
	let directory: string;
	beforeEach(async () => {
		directory = mkdtempSync(join(tmpdir(), "dt-secret-"));
		writeFileSync(join(directory, "value"), VALUE, { mode: 0o600 });
		server = await RealServer.start();
		const secrets = { db: { from: { file: join(directory, "value") } } };
		writeFileSync(join(server.home, "policy.json"), JSON.stringify({ secrets }), { mode: 0o600 });
	});
	afterEach(async () => {
		await server[Symbol.asyncDispose]();
		rmSync(directory, { recursive: true });
	});

	test.each(["HTTP", "MCP"])(
		"typed over %s, is in no stream, answer, recording, log or file",
		async (way) => {
			const places = new Map<string, string>();
			await using agent = await Agent.connect(server);
			const http = async (tool: string, input: object) => {
				const answer = await server.post(`/v1/tools/${tool}`, input);
				const text = await answer.text();
				places.set(`${tool} over HTTP ${places.size}`, text);
				expect(answer.status).toBe(200);
				return text;
			};
			const call = way === "HTTP" ? http : (tool: string, input: object) => agent.call(tool, input);
			const person = await Person.logIn(server);
			const get = (path: string) => (signal: AbortSignal) => server.get(path, { signal });
			await using events = await Kept.sse(get("/v1/events?after=0"));
			await using eventsSocket = await Kept.socket(`${server.url}/v1/events?after=0`, ["dialtone", server.token]);
			await using watch = await Kept.sse((signal) => person.get("/v1/watch", { signal }));
			const session = `asks-${way.toLowerCase()}`;
			await call("start", { name: session, argv: ["python3", "-c", PRINTS], timeoutMs: 60_000 });
			const path = `/v1/sessions/${session}`;
			await using output = await Kept.sse(get(`${path}/output?from=0`));
			await using outputSocket = await Kept.socket(`${server.url}${path}/output?from=0`, ["dialtone", server.token]);
			const asPage = { cookie: person.cookie, origin: server.url };
			await using terminal = await Kept.socket(`${server.url}${path}/terminal`, ["dialtone"], asPage);

			const printed = { text: "all printed" };
			const sent = await call("send", { session, secret: "db", submit: true, until: printed, timeoutMs: 60_000 });
			expect(sent).toContain("all printed");
			const outputs = { output, outputSocket, terminal };
			for (const [name, kept] of Object.entries(outputs))
				await until(`${name} has it all`, () => kept.text.includes("next> "));

			const collect = async (when: string) => {
				for (const view of ["screen", "lines", "new", "why"])
					for (const ask of [http, (tool: string, input: object) => agent.call(tool, input)])
						await ask("read", { session, view, ...(view === "lines" && { from: 1 }) });
				await agent.call("list", {});
				for (const one of [
					"",
					"/timeline",
					"/snapshot",
					"/moment?at=1000000",
					"/moment?offset=300",
					...["cast", "text", "svg", "png"].map((format) => `/export?format=${format}`),
					"/export?format=text&at=1000000",
				])
					places.set(
						`${one} ${when}`,
						Buffer.from(await (await server.get(`${path}${one}`)).arrayBuffer()).toString("latin1"),
					);
				places.set(`sessions ${when}`, await (await server.get("/v1/sessions")).text());
				for (const [file, bytes] of filesBelow(server.home)) places.set(`${file} ${when}`, bytes);
			};
			await collect("while it runs");
			await call("send", { session, text: "", submit: true, timeoutMs: 60_000 });
			await until(
				"its end is an event",
				() => events.text.includes('"ended"') && eventsSocket.text.includes('"ended"'),
			);
			await collect("when it has ended");
			for (const args of [
				["logs", session],
				["read", session, "--view", "lines", "--from", "1"],
				["screen", session],
				["replay", session, "--speed", "1000"],
				["replay", session, "--at", "1000s"],
				...["cast", "cast2", "text", "svg"].map((format) => ["export", session, "-f", format]),
				["export", session, "-f", "script", "-o", join(server.home, "typescript")],
				["audit"],
				["audit", "--json"],
				["secrets"],
				["ls", "-a", "--json"],
			]) {
				const { code, out } = await server.cli(...args);
				expect([args, code, code === 0 ? "" : out]).toEqual([args, 0, ""]);
				places.set(`dialtone ${args.join(" ")}`, out);
			}
			for (const [file, bytes] of filesBelow(server.home)) places.set(`${file} after the commands`, bytes);
			places.set("what the agent heard", agent.heard.join("\n"));
			for (const [name, kept] of Object.entries({ events, eventsSocket, watch, ...outputs }))
				places.set(name, kept.text);

			const found = [...places].flatMap(([place, text]) =>
				SPELLINGS.filter((one) => text.includes(one)).map((one) => [place, one]),
			);
			expect(found).toEqual([]);
			// What was searched has what was printed beside it.
			const has = (part: string, text = SHOWN) =>
				[...places].some(([place, content]) => place.includes(part) && content.includes(text));
			for (const part of ["output", "outputSocket", "terminal", "what the agent heard", "dialtone logs", "format=cast"])
				expect([part, has(part)]).toEqual([part, true]);
			for (const part of ["moment?at", "dialtone replay", "-f cast2", "-f text", "typescript", "/sessions/"])
				expect([part, has(part)]).toEqual([part, true]);
			for (const part of ["dialtone audit", "/timeline", "dialtone secrets"])
				expect([part, has(part, "db")]).toEqual([part, true]);
			expect(has("watch", session)).toBe(true);
			expect([...places.keys()].some((place) => place.startsWith("/daemon.log"))).toBe(true);
		},
		280_000,
	);
});
