// A fleet set up as docs/fleet.md says it: each step a command, with the real server reading what was written.

import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test as vitestTest } from "vitest";
import { readCredentials } from "../../src/fleet/credentials.ts";
import { type FleetHostStatus, type FleetStatus, REFUSED } from "../../src/protocol/fleet.ts";
import { VERSION } from "../../src/version.ts";
import { until } from "../condition.ts";
import { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS, BrokerNode, loopbackPlaces } from "./broker.ts";

const test = (name: string, run: () => Promise<void>) => vitestTest(name, needing(...BROKER_NEEDS), run);
/** Not the default. */
const PORT = 4333;

let outer: string;
let fleet: string;
let homes: Home[];
let servers: BrokerNode[];
beforeEach(() => {
	outer = mkdtempSync(join(tmpdir(), "dt-set-up-"));
	fleet = join(outer, "fleet");
	homes = [];
	servers = [];
});
afterEach(async () => {
	for (const home of homes) await home[Symbol.asyncDispose]();
	for (const server of servers) await server.kill();
	rmSync(outer, { recursive: true });
});

function machine(): Home {
	const home = new Home();
	homes.push(home);
	return home;
}

/** What a command prints that works. */
async function says(home: Home, ...args: string[]): Promise<string> {
	const { code, stdout } = await home.cli(...args);
	expect({ args, code }, stdout).toEqual({ args, code: 0 });
	return stdout;
}
const told = async <T>(home: Home, ...args: string[]) => JSON.parse(await says(home, ...args, "--json")) as T;
async function refusal(home: Home, ...args: string[]): Promise<readonly unknown[]> {
	const { code, stdout } = await home.cli(...args, "--json");
	return [code, JSON.parse(stdout).fault];
}
const statusOf = (home: Home) => told<FleetStatus>(home, "fleet", "status");

async function start(name: string, kind: "nodes" | "leaves", [host, port]: readonly [string, number]) {
	const server = new BrokerNode({ name, host, port }, join(fleet, kind, name), []);
	servers.push(server);
	server.start();
	await server.listening();
	return server;
}

const text = (...path: string[]) => readFileSync(join(fleet, ...path), "utf8");
const creds = (user: string, tenant = "main") => join(fleet, "credentials", tenant, `${user}.creds`);
/** Whom a credentials file is for. */
function grantOf(user: string, tenant?: string) {
	const { role, owner, host } = readCredentials(creds(user, tenant)).member!;
	return { role, owner, host };
}

test("issue 15: machines join what `fleet init` wrote, a user is added, and one that is removed is out", async () => {
	const [{ host: address = "" } = {}] = await loopbackPlaces(1);
	const [alpha, beta, bots] = [machine(), machine(), machine()];
	const wrote = await says(alpha, "fleet", "init", fleet, "--node", `n1=${address}:${PORT}`);
	expect(wrote.split("\n").slice(0, 2)).toEqual([creds("admin"), creds("host")]);
	expect(wrote).toContain(`cd ${fleet}/nodes/NAME && nats-server -c server.conf\n`);
	const server = await start("n1", "nodes", [address, PORT]);

	const labels = ["--label", "gpu=a100", "--label", "zone=b"];
	expect(await says(alpha, "join", "--creds", creds("admin"), "--as", "alpha", ...labels)).toMatch(
		/^Joined as alpha, /,
	);
	await says(beta, "join", "--creds", creds("host"), "--as", "beta");
	const hostsOf = () => told<readonly FleetHostStatus[]>(alpha, "fleet", "hosts");
	const rowOf = async (host: string) => (await hostsOf()).find((one) => one.host === host);
	await until("alpha knows beta", async () => (await rowOf("beta"))?.reachable);
	await says(alpha, "start", "--host", "beta", "--name", "cat", "cat");
	await until("beta says that it runs something", async () => (await rowOf("beta"))?.running === 1);
	const known = {
		reachable: true,
		version: VERSION,
		since: expect.any(Number),
		load: expect.any(Number),
		capacity: 64,
	};
	expect((await hostsOf()).toSorted((a, b) => (a.host < b.host ? -1 : 1))).toEqual([
		{ ...known, host: "alpha", labels: { gpu: "a100", zone: "b" }, running: 0 },
		{ ...known, host: "beta", labels: {}, running: 1 },
	]);
	const table = await says(alpha, "fleet", "hosts");
	expect(table).toMatch(/^beta +reachable +\S+Z +1 of 64 +\d+\.\d\d +\d/m);
	expect(table).toMatch(/^alpha .* gpu=a100 zone=b *$/m);
	expect(await says(alpha, "start", "--placement", "gpu=a100,zone=b", "--name", "here", "cat")).toMatch(/^\[here\]/);

	expect((await says(alpha, "fleet", "user", fleet, "bot")).split("\n")[0]).toBe(creds("bot"));
	const own = join(bots.path, "bot.creds");
	copyFileSync(creds("bot"), own); // as it is handed out
	expect((await bots.cli("join", "--creds", own)).code).not.toBe(0); // before the reload
	await server.reload();
	expect(await says(bots, "join", "--creds", own)).toMatch(/^Joined as drive of bot, serves no sessions\./);
	expect(await statusOf(bots)).toMatchObject({ connected: true, role: "drive", owner: "bot", serves: false });

	expect(await told(alpha, "fleet", "user", fleet, "bot", "--remove")).toEqual({ credentials: [] });
	expect(existsSync(creds("bot"))).toBe(false);
	const { since } = await statusOf(alpha);
	await server.reload();
	await until("it is told", async () => (await statusOf(bots)).problem === REFUSED);
	expect(await says(bots, "fleet", "status")).toMatch(
		/^This machine: drive of bot, serves no sessions\nServers: .*not connected \(its servers refuse the credentials\)[\s\S]*dialtone join --creds FILE/,
	);
	expect(await statusOf(bots)).toMatchObject({ connected: false });
	// The others notice nothing.
	expect(await statusOf(alpha)).toMatchObject({ connected: true, since });
	expect(await says(alpha, "send", "beta/cat", "still")).toContain("still");
});

test("issue 15: a tenant that is added is apart, and a site's machines join by its leaf node", async () => {
	const places = await loopbackPlaces(2);
	const [hub, site] = [places[0]!.host, places[1]!.host];
	const [alpha, beta, other] = [machine(), machine(), machine()];
	await says(alpha, "fleet", "init", fleet, "--node", `n1=${hub}:${PORT}`);
	const server = await start("n1", "nodes", [hub, PORT]);
	await says(alpha, "join", "--creds", creds("admin"), "--as", "alpha");

	const added = await told<{ credentials: string[] }>(alpha, "fleet", "tenant", fleet, "other");
	expect(added.credentials).toEqual([creds("admin", "other"), creds("host", "other")]);
	// What a tenant keeps is opened at the second one.
	await server.reload();
	await server.reload();
	await says(other, "join", "--creds", creds("admin", "other"), "--as", "alpha");
	expect((await statusOf(other)).hosts.map(({ host }) => host)).toEqual(["alpha"]);
	expect(await refusal(other, "read", "--host", "beta", "cat")).toEqual([1, "unknown_host"]);

	const leaf = await told<{ leaf: string }>(alpha, "fleet", "leaf", fleet, `site=${site}:${PORT + 1}`);
	expect(leaf).toEqual({ leaf: join(fleet, "leaves", "site") });
	// Once, for the port of leaf nodes.
	await server.kill();
	server.start();
	await server.listening();
	await start("site", "leaves", [site, PORT + 1]);
	await until("beta has joined", async () => {
		const args = ["join", `tls://${site}:${PORT + 1}`, "--creds", creds("admin"), "--as", "beta"];
		return (await beta.cli(...args)).code === 0;
	});
	expect((await statusOf(beta)).servers).toEqual([`tls://${site}:${PORT + 1}`]);
	await until(
		"alpha knows beta",
		async () => (await alpha.cli("start", "--host", "beta", "-n", "x", "cat")).code === 0,
	);
	expect(await says(alpha, "send", "--host", "beta", "x", "hello")).toMatch(/^\[beta\/x\] waiting/);
	expect((await statusOf(other)).hosts.map(({ host }) => host)).toEqual(["alpha"]);
});

test("issue 15: `fleet init` without flags is one server on loopback and one tenant, all of it private", async () => {
	const home = machine();
	const wrote = await told<{ credentials: string[] }>(home, "fleet", "init", fleet);
	expect(wrote.credentials).toEqual([creds("admin"), creds("host")]);
	expect(readdirSync(fleet).sort()).toEqual(["ca.key", "ca.pem", "credentials", "fleet.json", "nodes"]);
	expect(readdirSync(join(fleet, "nodes"))).toEqual(["nats1"]);
	const files = ["accounts.conf", "ca.pem", "cert.pem", "key.pem", "server.conf"];
	expect(readdirSync(join(fleet, "nodes/nats1")).sort()).toEqual(files);
	const configuration = text("nodes/nats1/server.conf");
	expect(configuration).toContain('listen: "127.0.0.1:4222"');
	expect(configuration).not.toMatch(/cluster|leafnodes/);
	expect(text("nodes/nats1/accounts.conf").match(/^ {2}\S+: \{/gm)).toEqual([
		'  "SYS": {',
		'  "main_store": {',
		'  "main": {',
	]);
	expect(readCredentials(creds("host")).member).toMatchObject({ tenant: "main", servers: ["tls://127.0.0.1:4222"] });
	expect([grantOf("admin"), grantOf("host")]).toEqual([
		{ role: "admin", owner: null, host: "*" },
		{ role: "host", owner: null, host: "*" },
	]);
	for (const path of readdirSync(fleet, { recursive: true, encoding: "utf8" })) {
		const found = statSync(join(fleet, path));
		expect((found.mode & 0o777).toString(8), path).toBe(found.isDirectory() ? "700" : "600");
	}
	expect(await refusal(home, "fleet", "init", fleet)).toEqual([1, "fleet_files_unusable"]);
});

test("issue 15: several nodes are a cluster, and a leaf node is of the tenant that is named", async () => {
	const home = machine();
	const nodes = ["a=192.0.2.1:4222", "b=192.0.2.2:4444", "c=nats.example:4222"];
	const flags = [...nodes.flatMap((node) => ["--node", node]), "--tenant", "red", "--tenant", "blue"];
	await says(home, "fleet", "init", fleet, ...flags);
	expect(readdirSync(join(fleet, "credentials")).sort()).toEqual(["blue", "red"]);
	const configuration = text("nodes/b/server.conf");
	expect(configuration).toContain('listen: "192.0.2.2:4444"');
	expect(configuration).toContain('listen: "192.0.2.2:6444"');
	expect(configuration.match(/nats-route:\S+@(\S+)"/g)?.map((route) => route.split("@")[1])).toEqual([
		'192.0.2.1:6222"',
		'nats.example:6222"',
	]);
	expect(text("nodes/c/server.conf")).toContain('listen: "0.0.0.0:4222"');

	const said = await says(home, "fleet", "leaf", fleet, "site=192.0.2.9:4999", "--tenant", "blue");
	expect(said.split("\n")[0]).toBe(join(fleet, "leaves/site"));
	expect(said).toContain("dialtone join tls://HOST:PORT --creds FILE");
	const leaf = text("leaves/site/server.conf");
	expect(leaf).toContain('listen: "192.0.2.9:4999"');
	expect(leaf).toContain('account: "blue"');
	expect(leaf.match(/@\S+:\d+"/g)).toEqual(['@192.0.2.1:7422"', '@192.0.2.2:7644"', '@nats.example:7422"']);
	expect(text("nodes/b/server.conf")).toContain('listen: "192.0.2.2:7644"');
	expect(text("nodes/b/accounts.conf")).toContain('user: "leaf-site"');
	// Without an address: for a test on one machine.
	await says(home, "fleet", "leaf", fleet, "near", "--tenant", "red");
	expect(text("leaves/near/server.conf")).toContain('listen: "127.0.0.1:4222"');

	expect(await says(home, "fleet", "tenant", fleet, "green")).toMatch(
		/reload: nats-server --signal reload\n.*reload twice/,
	);
	expect(text("nodes/c/accounts.conf")).toContain('"green_store"');

	expect(await refusal(home, "fleet", "leaf", fleet, "third=nowhere", "--tenant", "red")).toEqual([2, "bad_input"]);
	expect(await refusal(home, "fleet", "leaf", fleet, "third")).toEqual([1, "fleet_files_unusable"]); // no tenant is main
	expect(await refusal(home, "fleet", "leaf", fleet, "near", "--tenant", "red")).toEqual([1, "fleet_files_unusable"]);
	expect(readdirSync(join(fleet, "leaves")).sort()).toEqual(["near", "site"]);
});

test("issue 15: what a user may without flags follows from its role", async () => {
	const home = machine();
	await says(home, "fleet", "init", fleet);
	const user = async (...args: string[]) => {
		await says(home, "fleet", "user", fleet, ...args);
		return grantOf(args[0]!);
	};
	expect(await user("bot")).toEqual({ role: "drive", owner: "bot", host: null });
	expect(await user("build1", "--role", "host")).toEqual({ role: "host", owner: null, host: "build1" });
	expect(await user("looks", "--role", "view")).toEqual({ role: "view", owner: null, host: null });
	expect(await user("boss", "--role", "approve", "--owner", "bot")).toEqual({
		role: "approve",
		owner: "bot",
		host: null,
	});
	expect(await user("desk", "--role", "admin", "--as", "*")).toEqual({ role: "admin", owner: null, host: "*" });
	expect(await user("laptop", "--owner", "bot", "--as", "mine")).toEqual({ role: "drive", owner: "bot", host: "mine" });
	expect(text("nodes/nats1/accounts.conf").match(/# \w+$/gm)).toHaveLength(2 + 6);

	await says(home, "fleet", "user", fleet, "laptop", "--remove");
	expect(text("nodes/nats1/accounts.conf")).not.toContain("laptop");
	for (const [code, fault, ...args] of [
		[1, "fleet_files_unusable", "user", fleet, "bot"],
		[1, "fleet_files_unusable", "user", fleet, "laptop", "--remove"],
		[1, "fleet_files_unusable", "user", join(outer, "none"), "bot"],
		[1, "fleet_files_unusable", "user", fleet, "all", "--role", "admin", "--owner", "bot"],
		[1, "fleet_files_unusable", "tenant", fleet, "main"],
		[2, "bad_input", "user", fleet],
		[2, "bad_input", "tenant", fleet],
		[2, "bad_input", "init"],
		[2, "bad_input", "init", join(outer, "new"), "--node", "n1"],
	] as const)
		expect(await refusal(home, "fleet", ...args), args.join(" ")).toEqual([code, fault]);
	expect(existsSync(join(outer, "new"))).toBe(false);
});
