// Several requests on one connection whose client vanishes.

import { expect, test } from "vitest";
import { until } from "../condition.ts";
import { play } from "../fuzz/connection.ts";
import { Stage } from "../robustness/stage.ts";

test("G9 G12 requests that wait behind another one end with their client", async () => {
	await using stage = await Stage.open();
	const client = await stage.connect();
	await client.call("start", { name: "cat", argv: ["cat"] });
	const { hostname, port, host } = new URL(stage.url);
	const head = `HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${stage.token}\r\n`;
	const body = JSON.stringify({ session: "cat", until: { text: "never", only: true }, timeoutMs: 280_000 });
	const wait = `POST /v1/tools/wait ${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
	const stream = `GET /v1/events ${head}\r\n`;
	const before = await stage.usage();
	for (const way of ["wait", "destroy", "reset"] as const)
		await play({ pieces: [wait + stream.repeat(5) + wait], way }, { host: hostname, port: Number(port) }, {});
	await until(
		"nothing waits for them any more",
		async () => (await stage.usage()).subscriptions <= before.subscriptions,
	);
	expect(stage.exceptions()).toEqual([]);
	await client[Symbol.asyncDispose]();
});
