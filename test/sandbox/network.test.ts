// A sandbox whose network is a list of hosts: what is on it is reached through the proxy, and nothing else.

import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AllowProxy } from "../../src/session/allow-proxy.ts";
import { needing } from "../programs.ts";
import { Box, isRoot } from "./box.ts";

let box: Box;
let server: Server;
let port: number;
beforeEach(async () => {
	box = await Box.open(isRoot ? "root" : "a normal user");
	server = createServer((_, response) => response.end("reached\n"));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	port = (server.address() as { port: number }).port;
	mkdirSync(join(box.outside, "proxy"));
});
afterEach(async () => {
	server.closeAllConnections();
	await new Promise((resolve) => server.close(resolve));
	await box[Symbol.asyncDispose]();
});

const socket = () => join(box.outside, "proxy/s.sock");
/** What curl prints, or `held`. */
const fetched = async (...urls: readonly string[]) => {
	const lines = urls.map((url) => `curl -sfm 60 ${url} || echo held`).join("; ");
	const { said } = await box.run(lines, { network: { allow: ["in the proxy"] } }, {}, { proxySocket: socket() });
	return said.trim().split("\n");
};

describe("R4.9 network.allow", needing("curl"), () => {
	test("plain and tunnelled requests reach what is named, on its port, and nothing else", async () => {
		await using _ = await AllowProxy.listen(socket(), [`127.0.0.1:${port}`, "example.invalid"]);
		const [named, tunnelled, other, unnamed, direct] = await fetched(
			`http://127.0.0.1:${port}/`.replace("http", "--noproxy '' http"),
			`--noproxy '' -p http://127.0.0.1:${port}/`,
			`--noproxy '' http://127.0.0.1:1/`,
			`--noproxy '' -p http://localhost:${port}/`,
			`--noproxy '*' http://127.0.0.1:${port}/`,
		);
		expect([named, tunnelled, other, unnamed, direct]).toEqual(["reached", "reached", "held", "held", "held"]);
	});

	test("a name that leads to this machine is refused, unless its address is named too", async () => {
		{
			await using _ = await AllowProxy.listen(socket(), [`localhost:${port}`]);
			expect(await fetched(`--noproxy '' http://localhost:${port}/`)).toEqual(["held"]);
		}
		await using _ = await AllowProxy.listen(socket(), [`localhost:${port}`, `127.0.0.1:${port}`]);
		expect(await fetched(`--noproxy '' http://localhost:${port}/`)).toEqual(["reached"]);
	});

	test("nothing gets out while no proxy listens; the next one on the same path serves the same session", async () => {
		const url = `--noproxy '' http://127.0.0.1:${port}/`;
		const line = `while read -r _; do curl -sfm 60 ${url} || echo held; done`;
		const first = await AllowProxy.listen(socket(), [`127.0.0.1:${port}`]);
		const { pty, received } = await box.start(line, { network: { allow: ["x"] } }, {}, { proxySocket: socket() });
		await pty.write(Buffer.from("\n"));
		await received.says("reached");
		await first[Symbol.asyncDispose]();
		await pty.write(Buffer.from("\n"));
		await received.says("held");
		await using _ = await AllowProxy.listen(socket(), [`127.0.0.1:${port}`]);
		await pty.write(Buffer.from("\n"));
		await received.says("held\r\n\r\nreached");
	});

	test.each(["", "*", "exa mple.com", "*.127.0.0.1", "http://example.com"])("%j is not a host", async (host) => {
		await expect(AllowProxy.listen(socket(), [host])).rejects.toThrow("not a host");
	});
});
