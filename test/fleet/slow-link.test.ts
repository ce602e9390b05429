import { expect, test } from "vitest";
import { within } from "../../src/pty/wait.ts";
import { HANG_MS, until } from "../condition.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { SlowLink } from "./slow-link.ts";

test(
	"what goes through a slow link arrives late, and after a stall all of it in order",
	needing(...BROKER_NEEDS),
	async () => {
		await using brokers = await Brokers.start();
		await using link = await SlowLink.to(brokers.servers[0]!);
		const near = await brokers.connect("admin");
		const far = await brokers.connect("admin", { servers: link.address });
		link.delayMs = 40;
		expect(await far.rtt()).toBeGreaterThanOrEqual(75);
		link.delayMs = 0;
		const heard: string[] = [];
		near.subscribe("dt.open.h1.*.*", { callback: (_, message) => void heard.push(message.string()) });
		await near.flush();
		link.stall();
		const sent = Array.from({ length: 100 }, (_, index) => String(index));
		for (const text of sent) far.publish("dt.open.h1.admin._", text);
		await near.flush();
		expect(heard).toEqual([]);
		link.resume();
		await until("all are heard", () => heard.length === sent.length, { withinMs: HANG_MS });
		expect(heard).toEqual(sent);
		link.reset();
		await far.closed();
	},
);

test(
	"a host from which nothing comes any more is given up by the server within seconds",
	needing(...BROKER_NEEDS),
	async () => {
		await using brokers = await Brokers.start();
		await using link = await SlowLink.to(brokers.servers[0]!);
		const near = await brokers.connect("admin");
		const far = await brokers.connect("admin", { servers: link.address });
		far.subscribe("dt.open.h1.*.*", { callback: (_, message) => void message.respond("here") });
		await far.flush();
		const ask = () => near.request("dt.open.h1.admin._", "", { timeout: 500 });
		expect((await ask()).string()).toBe("here");
		link.stall({ onlyToServer: true });
		await expect(ask()).rejects.toThrow(/timeout/i);
		// Not asked in the meantime: the server sends no pings to a client that it sends other things to.
		await within(40_000, "the server's end", far.closed());
		await expect(ask()).rejects.toThrow(/no responders/);
	},
);
