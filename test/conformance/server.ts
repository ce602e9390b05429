// Our server as the conformance suite meets it: the real HTTP door and MCP code over
// the real sessions, with the suite's tools added, and a porter in front who brings the
// token (the suite cannot send one) and hands everything else on as it came.

import { mkdtempSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen } from "../../src/http/listen.ts";
import { Tokens } from "../../src/http/tokens.ts";
import { Dialtone } from "../../src/index.ts";
import { mcpOverHttp } from "../../src/mcp/http.ts";
import { withFixtures } from "./fixtures.ts";

const dialtone = await Dialtone.open();
const client = withFixtures(dialtone.client);
const tokens = new Tokens(join(mkdtempSync(join(tmpdir(), "dialtone-conformance-")), "tokens.json"));
const { token } = tokens.create({ name: "conformance", role: "drive" });
const mcp = mcpOverHttp({
	sets: ["native"],
	version: "0.0.0",
	tools: () => client.tools(),
	connect: async () => client,
	peek: async () => client,
	progressEveryMs: 50,
});
const { url } = await listen({
	client,
	version: "0.0.0",
	sets: ["native"],
	port: 0,
	tokens,
	caller: () => ({ owner: "conformance", cwd: "/", env: {} }),
	mcp,
});
// Something to list and to read.
await client.call("start", { argv: ["cat"], name: "fixture" });

const { hostname, port, host } = new URL(url);
const porter = createServer((from, to) => {
	const headers = { ...from.headers, authorization: `Bearer ${token}` };
	const ours = [`localhost:${at()}`, `127.0.0.1:${at()}`];
	if (ours.includes(from.headers.host ?? "")) headers.host = host;
	if (ours.some((one) => from.headers.origin === `http://${one}`)) headers.origin = `http://${host}`;
	const onward = request({ hostname, port, path: from.url, method: from.method, headers }, (answer) => {
		to.writeHead(answer.statusCode!, answer.headers);
		answer.pipe(to);
	});
	onward.on("error", () => to.destroy());
	to.on("close", () => onward.destroy());
	from.pipe(onward);
});
const at = () => (porter.address() as AddressInfo).port;
porter.listen(0, "127.0.0.1", () => console.log(`http://localhost:${at()}/mcp`));

process.on("SIGTERM", async () => {
	await dialtone[Symbol.asyncDispose]();
	process.exit(0);
});
