// The commands for a fleet: join, leave, who is there, and the files of its servers.

import { resolve } from "node:path";
import { oneLine } from "../protocol/clean.ts";
import { type FleetHostStatus, type FleetStatus, REFUSED, TAKEN, UNHEARD } from "../protocol/fleet.ts";
import { listAll } from "../tools/list-pages.ts";
import type { FleetFiles, Invocation, NewFleetUser } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput, type Flags } from "./flags.ts";
import { table } from "./table.ts";

export async function join({ words, flags, json, io, dependencies }: Invocation): Promise<number> {
	const credentials = flags.string("creds");
	const host = flags.string("as");
	if (words.length === 0 && credentials === undefined) throw badInput("give a server (nats://host:4222), or --creds");
	const status = await dependencies.fleet.ask({
		servers: words,
		labels: labelsIn(flags),
		...(credentials !== undefined && { credentials: resolve(credentials) }),
		...(host !== undefined && { host }),
	});
	if (json) io.out(`${JSON.stringify(status)}\n`);
	else io.out(`Joined as ${nameOf(status!)}.\n${hostsTable(status!)}`);
	if (credentials === undefined && status!.serves) io.err(OPEN);
	return EXIT.ok;
}

const OPEN =
	"Attention: joined without credentials. Whoever may use these servers may do everything on this machine; see `dialtone fleet init`.\n";

async function leave({ json, io, dependencies }: Invocation): Promise<number> {
	const before = await dependencies.fleet.ask("status");
	await dependencies.fleet.ask("leave"); // also a join that is under way
	if (json) io.out(`${JSON.stringify({ left: before !== null })}\n`);
	else io.out(before === null ? "This machine is in no fleet.\n" : "Left the fleet; sessions keep running.\n");
	return EXIT.ok;
}

const NEEDS_DIRECTORY = new Set(["init", "leaf", "user", "tenant"]);

export async function fleet(invocation: Invocation): Promise<number> {
	const [word = "", directory] = invocation.words;
	if (NEEDS_DIRECTORY.has(word)) {
		if (directory === undefined) throw badInput(`give the directory: dialtone fleet ${word} DIR`);
		return files(invocation, word, resolve(directory));
	}
	if (word === "forget") return forget(invocation, directory);
	if (directory !== undefined) throw badInput(`\`fleet ${word}\` takes no more words`);
	if (word === "ls") return list(invocation);
	if (word === "leave") return leave(invocation);
	const { json, io, dependencies } = invocation;
	const status = await dependencies.fleet.ask("status");
	if (json) io.out(`${JSON.stringify(word === "hosts" ? (status?.hosts ?? []) : status)}\n`);
	else if (status === null) io.out("This machine is in no fleet. Join one: dialtone join --creds FILE\n");
	else io.out(word === "hosts" ? hostsTable(status) : `${statusText(status)}${hostsTable(status)}`);
	if (status !== null && status.problem !== null && word === "hosts" && !json)
		io.err(`Attention: ${status.problem} (since ${at(status.since)}). See: dialtone fleet status\n`);
	return status === null ? EXIT.noDaemon : EXIT.ok;
}

async function forget({ json, io, dependencies }: Invocation, host: string | undefined): Promise<number> {
	if (host === undefined) throw badInput("give the machine: dialtone fleet forget HOST");
	const sessions = await dependencies.fleet.forget(host);
	if (json) io.out(`${JSON.stringify({ forgot: host, sessions })}\n`);
	else
		io.out(
			`Removed ${host} and its ${sessions} sessions from the lists of the fleet. If it comes back, it is listed again.\n`,
		);
	return EXIT.ok;
}

async function list({ json, io, dependencies }: Invocation): Promise<number> {
	await using client = await dependencies.connect();
	const by = { caller: dependencies.observer() };
	if (json) io.out(`${JSON.stringify((await listAll(client, {}, by)).facts)}\n`);
	else io.out(`${(await client.call("list", {}, by)).text}\n`);
	return EXIT.ok;
}

function statusText(status: FleetStatus): string {
	const { servers, connected, role, problem, since } = status;
	const state = connected ? "connected" : `not connected (${problem ?? "unknown"})`;
	const where = servers.length === 0 ? "" : `${servers.join(", ")}, `;
	// What nobody else puts right.
	const next =
		role === null || problem === REFUSED
			? "It joins by itself when that is put right. With another file: dialtone join --creds FILE. To give it up: dialtone fleet leave\n"
			: problem === TAKEN
				? `Attention: ${problem}. Join under another name: dialtone join ... --as NAME\n`
				: problem === UNHEARD
					? `Attention: ${problem}.\n`
					: "";
	return `This machine: ${nameOf(status)}\nServers: ${where}${state} since ${at(since)}\n${next}`;
}

function nameOf({ host, serves, role, owner }: FleetStatus): string {
	if (role === null) return `${host === null ? "" : `${host}, `}its credentials cannot be read`;
	const as = owner === null ? role : `${role} of ${owner}`;
	return serves ? `${host}, as ${as}` : `${as}, serves no sessions`;
}

function hostsTable({ hosts }: FleetStatus): string {
	const rows = hosts.toSorted((a, b) => (a.host < b.host ? -1 : 1)).map(row);
	return table([["HOST", "STATE", "SINCE", "SESSIONS", "LOAD", "VERSION", "LABELS"], ...rows]);
}

const row = ({ host, reachable, since, running, capacity, load, version, ours, labels }: FleetHostStatus): string[] => [
	host,
	!reachable ? "unreachable" : ours === undefined ? "reachable" : `not ${ours}`,
	since === null ? "-" : at(since),
	running === null ? "-" : `${running} of ${capacity}`,
	load === null ? "-" : load.toFixed(2),
	oneLine(version ?? "-"),
	Object.entries(labels)
		.map(([name, value]) => oneLine(`${name}=${value}`, 1000))
		.join(" "),
];

const at = (ms: number) => new Date(ms).toISOString();

function labelsIn(flags: Flags): Record<string, string> {
	return Object.fromEntries(
		flags.list("label").map((pair) => {
			const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
			if (name === undefined || value === undefined) throw badInput(`"${pair}" is no label: NAME=VALUE`);
			return [name, value];
		}),
	);
}

async function files({ words, flags, json, io, dependencies }: Invocation, word: string, directory: string) {
	const written = writtenBy(await dependencies.fleet.files(), { word, directory, name: words[2], flags });
	if (json) io.out(`${JSON.stringify(word === "leaf" ? { leaf: written[0] } : { credentials: written })}\n`);
	else io.out(`${written.map((path) => `${path}\n`).join("")}${nextSteps(word, directory)}`);
	return EXIT.ok;
}

function nextSteps(word: string, directory: string): string {
	if (word === "init")
		return `Start each server in its directory: cd ${directory}/nodes/NAME && nats-server -c server.conf\nThen, on each machine: dialtone join --creds FILE\n`;
	if (word === "leaf")
		return "Copy nodes/NAME/*.conf to the servers and start them again, one by one. Start the leaf node in its directory: nats-server -c server.conf\nThen, on each machine there: dialtone join tls://HOST:PORT --creds FILE\n";
	const reload =
		"Copy accounts.conf of nodes/NAME and leaves/NAME to the servers and have them reload: nats-server --signal reload\n";
	// Seen with 2.9.10: after the first reload JetStream is not enabled for an account that is new.
	return word === "tenant"
		? `${reload}Have them reload twice: the second time they open the new tenant's store.\n`
		: reload;
}

interface Asked {
	readonly word: string;
	readonly directory: string;
	readonly name: string | undefined;
	readonly flags: Flags;
}

/** The credentials files that were made, or the leaf node's directory. */
function writtenBy(make: FleetFiles, { word, directory, name, flags }: Asked): readonly string[] {
	const tenants = flags.list("tenant");
	if (word === "init") {
		const nodes = flags.list("node").map(nodeIn);
		return make.initFleet(directory, { ...(nodes.length > 0 && { nodes }), ...(tenants.length > 0 && { tenants }) });
	}
	if (name === undefined) throw badInput(`give a name: dialtone fleet ${word} DIR NAME`);
	if (word === "tenant") return make.addTenant(directory, name);
	const [tenant = "main"] = tenants;
	if (word === "leaf")
		return [
			make.addLeaf(directory, tenant, name.includes("=") ? nodeIn(name) : { name, host: "127.0.0.1", port: 4222 }),
		];
	if (flags.on("remove")) {
		make.removeUser(directory, tenant, name);
		return [];
	}
	const role = (flags.string("role") ?? "drive") as NewFleetUser["role"];
	return [
		make.addUser(directory, tenant, {
			name,
			role,
			owner: flags.string("owner") ?? (role === "drive" ? name : null),
			host: flags.string("as") ?? (role === "host" ? name : null),
		}),
	];
}

function nodeIn(text: string) {
	const [, name, host, port] = /^([^=]+)=(.+):(\d+)$/.exec(text) ?? [];
	if (name === undefined || host === undefined) throw badInput(`"${text}" is no node: NAME=HOST:PORT`);
	return { name, host, port: Number(port) };
}
