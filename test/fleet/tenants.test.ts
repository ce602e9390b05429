// Machines of two tenants of the same servers, with the same names: none sees, reaches or hears anything of the other's.

import { expect, test } from "vitest";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, Brokers } from "./broker.ts";
import { called, codeOf } from "./two-hosts.ts";

const patient = { timeoutMs: 60_000 };

test(
	"issue 15: two tenants with machines of the same names know nothing of each other",
	needing(...BROKER_NEEDS),
	async () => {
		await using brokers = await Brokers.start({ tenants: ["red", "blue"] });
		const ends: (() => PromiseLike<unknown>)[] = [];
		await using _all = {
			[Symbol.asyncDispose]: async () => {
				for (const end of ends.reverse()) await end();
			},
		};
		const machine = async (tenant: string, host: string) => {
			const home = new Home();
			ends.push(() => home[Symbol.asyncDispose]());
			const client = await home.connect();
			ends.push(() => client[Symbol.asyncDispose]());
			await client.fleet({
				servers: [],
				credentials: brokers.credentials("admin", tenant),
				host,
				labels: { of: tenant },
			});
			const heard: string[] = [];
			const stop = new AbortController();
			const listening = (async () => {
				for await (const event of client.events({ signal: stop.signal }))
					if ("name" in event && event.host !== undefined) heard.push(`${event.event} ${event.name}`);
			})();
			ends.push(() => {
				stop.abort();
				return listening;
			});
			return { home, client, heard };
		};
		const red = [await machine("red", "alpha"), await machine("red", "beta")] as const;
		const blue = [await machine("blue", "alpha"), await machine("blue", "only-blue")] as const;
		for (const [{ client }, host] of [
			[red[0], "beta"],
			[blue[0], "only-blue"],
		] as const)
			await until(`${host} is known`, async () => (await codeOf(called(client, "list", { host }))) === "done");

		await called(red[1].client, "start", { name: "secret-red", argv: ["cat"], ...patient });
		await called(blue[1].client, "start", { name: "blue", argv: ["true"], ...patient });
		await until("each is told of its own", () =>
			[red[0].heard.includes("started beta/secret-red"), blue[0].heard.includes("ended only-blue/blue")].every(Boolean),
		);
		await until("each lists its own", async () => (await red[0].home.cli("ls")).stdout.includes("beta/secret-red"));
		for (const { home, client, heard } of blue) {
			for (const words of [
				["ls", "-a"],
				["fleet", "hosts"],
				["fleet", "status"],
				["fleet", "ls"],
			]) {
				const { stdout } = await home.cli(...words);
				expect(stdout, words.join(" ")).not.toMatch(/secret-red|beta/);
			}
			expect(await codeOf(called(client, "read", { session: "beta/secret-red" }))).toBe("unknown_host");
			expect(await codeOf(called(client, "read", { session: "alpha/secret-red" }))).toBe("session_not_found");
			expect(await codeOf(called(client, "start", { host: "beta", argv: ["cat"] }))).toBe("unknown_host");
			const placement = { labels: { of: "red" } };
			expect(await codeOf(called(client, "start", { placement, argv: ["cat"] }))).toBe("no_host_fits");
			expect(heard.filter((told) => told.includes("red"))).toEqual([]);
		}
		expect(red[0].heard.filter((told) => told.includes("blue"))).toEqual([]);
	},
);
