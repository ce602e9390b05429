// A daemon that runs and cannot serve: one that is suspended, and one that has as many clients as it may have.
import { describe, expect, test } from "vitest";
import { Home } from "./home.ts";

describe("a daemon that is suspended", () => {
	test("fails a call soon after the call's own timeout, and says that it does not answer", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const { pid } = await client.status();
		await client.call("start", { name: "cat", argv: ["cat"] });
		process.kill(pid, "SIGSTOP");
		try {
			const asked = client.call("wait", { session: "cat", until: { text: "never", only: true }, timeoutMs: 500 });
			await expect(asked).rejects.toMatchObject({ code: "daemon_replaced", message: /does not answer/ });
		} finally {
			process.kill(pid, "SIGCONT");
		}
	});
});

describe("a daemon that is asked whether it still runs", () => {
	test("answers, and the call that takes longer than its timeout gets its own answer", async () => {
		await using home = new Home();
		await using client = await home.connect();
		const deaf = ["bash", "-c", "stty raw -echo; echo deaf; exec tail -f /dev/null"];
		await client.call("start", { name: "deaf", argv: deaf, until: { text: "deaf" } });
		const input = { session: "deaf", text: "x".repeat(999_999), timeoutMs: 0 };
		await client.call("send", input); // fills the holder's buffer
		// Waits five seconds for the program to read, whatever the timeout of the wait that follows.
		const sent = client.call("send", input);
		await expect(sent).rejects.toMatchObject({ code: "queue_full" });
	});
});

describe("a daemon with as many busy clients as it may have", () => {
	test("is said to close connections; no other one is started", async () => {
		await using home = new Home({ DIALTONE_CONNECTIONS: "8" });
		const clients = [];
		const stop = new AbortController();
		const streams: Promise<unknown>[] = [];
		for (let i = 0; i < 8; i++) {
			const client = await home.connect();
			clients.push(client);
			const events = client.events({ signal: stop.signal });
			streams.push(events.next());
		}
		const { pid } = await clients[0]!.status();
		await expect(home.connect()).rejects.toMatchObject({
			code: "no_daemon",
			message: expect.stringContaining(`process ${pid} closes connections`),
		});
		stop.abort();
		await Promise.all(streams);
		for (const client of clients) await client[Symbol.asyncDispose]();
	});
});
