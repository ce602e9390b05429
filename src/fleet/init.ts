// A fleet's directory: server configurations, certificates and credentials, and the record from which they are made.
//
//   fleet.json                 nodes, tenants and users (public keys only), and the password of routes
//   ca.pem, ca.key             the fleet's authority
//   nodes/NAME/                what the server on that machine needs: copy it there
//   leaves/NAME/               the same of a leaf node
//   credentials/TENANT/*.creds one for each user: hand them out
//
// Directories are 0700, files 0600.

import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createUser } from "@nats-io/nkeys";
import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { problemOf, readPrivately } from "../pty/checked-file.ts";
import { checkPrivate, makePrivate } from "../pty/private-directory.ts";
import { makeAuthority, makeCertificate } from "./certificates.ts";
import { formatCredentials } from "./credentials.ts";
import { leafAccounts, leafConfiguration } from "./leaf-configuration.ts";
import { FLEET_ROLES, type FleetGrant } from "./permissions.ts";
import {
	accountsConfiguration,
	type FleetLeaf,
	type FleetNode,
	type FleetPlan,
	type FleetUser,
	serverAddress,
	serverConfiguration,
} from "./server-configuration.ts";

/** One server on this machine, one tenant. */
const DEFAULT_NODES: readonly FleetNode[] = [{ name: "nats1", host: "127.0.0.1", port: 4222 }];
const DEFAULT_TENANTS = ["main"];

/** Of a tenant that nothing else was said of: one for the person, and one with which any machine serves. */
const DEFAULT_USERS: readonly NewUser[] = [
	{ name: "admin", role: "admin", owner: null, host: "*" },
	{ name: "host", role: "host", owner: null, host: "*" },
];

/** A user to be made: its key is made with it. */
export interface NewUser extends FleetGrant {
	/** Of its credentials file. */
	readonly name: string;
}

/** Names of tenants, nodes, users and hosts: also of files and accounts. */
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const ADDRESS = /^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$/;

const name = z.string().regex(NAME, "is not a name of letters a-z, digits and -");
/** The port for leaf nodes is above that for clients. */
const node = z.object({ name, host: z.string().regex(ADDRESS), port: z.int().min(1).max(62_335) });
const record = z.object({
	version: z.literal(1),
	routePassword: z.string(),
	nodes: z.array(node).min(1),
	leaves: z.array(node.extend({ tenant: name, password: z.string() })).default([]),
	tenants: z.array(name),
	users: z.array(
		z.object({
			tenant: name,
			name,
			role: z.enum(FLEET_ROLES),
			owner: z.string().min(1).nullable(),
			host: name.or(z.literal("*")).nullable(),
			key: z.string(),
		}),
	),
});
type FleetRecord = FleetPlan & { readonly version: 1; readonly routePassword: string };

/** Writes a new fleet into a directory that must not exist; returns the credentials files. Nothing is left of it where it fails. */
export function initFleet(
	directory: string,
	{
		nodes = DEFAULT_NODES,
		tenants = DEFAULT_TENANTS,
		users = DEFAULT_USERS,
	}: {
		readonly nodes?: readonly FleetNode[];
		readonly tenants?: readonly string[];
		/** Of each tenant. */
		readonly users?: readonly NewUser[];
	} = {},
): readonly string[] {
	if (existsSync(directory)) throw unusable(`${directory} exists already`);
	const empty = { version: 1, routePassword: newPassword(), nodes, leaves: [], tenants: [], users: [] } as const;
	const fleet = tenants.reduce<Changed>((so, tenant) => withTenant(so, tenant, users), { record: empty, made: [] });
	check(fleet.record);
	makePrivate(directory);
	try {
		makeAuthority(directory);
		for (const node of nodes) makeServer(directory, nodeDirectory(directory, node), node);
		for (const file of ["ca.pem", "ca.key"]) chmodSync(join(directory, file), 0o600);
		return save(directory, fleet);
	} catch (error) {
		rmSync(directory, { recursive: true, force: true });
		throw error;
	}
}

/** Adds a leaf node of a tenant; returns its directory. The nodes listen for it when they were started again. */
export function addLeaf(directory: string, tenant: string, leaf: FleetNode): string {
	const before = open(directory);
	mustHave(before, tenant);
	const leaves = [...before.leaves, { ...leaf, tenant, password: newPassword() }];
	const after = { ...before, leaves };
	check(after);
	const into = leafDirectory(directory, leaf);
	try {
		makeServer(directory, into, leaf);
		save(directory, { record: after, made: [] });
	} catch (error) {
		rmSync(into, { recursive: true, force: true });
		throw error;
	}
	return into;
}

/** Its directory, with its certificate. */
function makeServer(directory: string, into: string, { host }: FleetNode): void {
	makePrivate(into);
	makeCertificate(directory, into, host);
	copyFileSync(join(directory, "ca.pem"), join(into, "ca.pem"));
	for (const file of ["ca.pem", "cert.pem", "key.pem"]) chmodSync(join(into, file), 0o600);
}

/** Adds one user; returns its credentials file. The servers know it when they have the new accounts.conf and were told to reload. */
export function addUser(directory: string, tenant: string, user: NewUser): string {
	const before = open(directory);
	mustHave(before, tenant);
	return save(directory, withUser({ record: before, made: [] }, tenant, user))[0]!;
}

/** Adds a tenant with these users; returns their credentials files. */
export function addTenant(directory: string, tenant: string, users = DEFAULT_USERS): readonly string[] {
	return save(directory, withTenant({ record: open(directory), made: [] }, tenant, users));
}

/** Takes a user's rights: connections of its key are closed at the reload. Its file is of no use any more. */
export function removeUser(directory: string, tenant: string, userName: string): void {
	const before = open(directory);
	const users = before.users.filter((user) => user.tenant !== tenant || user.name !== userName);
	if (users.length === before.users.length) throw unusable(`${tenant} has no user called ${userName}`);
	save(directory, { record: { ...before, users }, made: [] });
	rmSync(credentialsFile(directory, { tenant, name: userName }), { force: true });
}

/** A record with the users that were made for it and their seeds, which are not in it. */
interface Changed {
	readonly record: FleetRecord;
	readonly made: readonly { readonly user: FleetUser; readonly seed: string }[];
}

function withTenant({ record: before, made }: Changed, tenant: string, users: readonly NewUser[]): Changed {
	if (before.tenants.includes(tenant)) throw unusable(`there is a tenant called ${tenant} already`);
	const after = { ...before, tenants: [...before.tenants, tenant] };
	return users.reduce<Changed>((so, user) => withUser(so, tenant, user), { record: after, made });
}

function withUser({ record: before, made }: Changed, tenant: string, asked: NewUser): Changed {
	const { name: called, role, owner, host } = asked;
	if (before.users.some((user) => user.tenant === tenant && user.name === called))
		throw unusable(`${tenant} has a user called ${called} already`);
	if (role === "host" && host === null) throw unusable("a user of the role host is for a host");
	if (role === "drive" && owner === null) throw unusable("a user of the role drive is for an owner");
	if ((role === "admin" || role === "host") && owner !== null) throw unusable(`the role ${role} is for all owners`);
	const pair = createUser();
	const user = { name: called, tenant, role, owner, host, key: pair.getPublicKey() };
	const seed = Buffer.from(pair.getSeed()).toString();
	return { record: { ...before, users: [...before.users, user] }, made: [...made, { user, seed }] };
}

function open(directory: string): FleetRecord {
	const path = join(directory, "fleet.json");
	try {
		if (!checkPrivate(directory)) throw new Error("does not exist");
		return record.parse(JSON.parse(readPrivately(path)));
	} catch (cause) {
		throw cause instanceof Fault ? cause : unusable(`${path} ${problemOf(cause)}`, cause);
	}
}

function check(fleet: FleetRecord): void {
	const parsed = record.safeParse(fleet);
	if (!parsed.success) throw unusable(`the fleet ${problemOf(parsed.error)}`, parsed.error);
	const names = [...fleet.nodes, ...fleet.leaves].map((server) => server.name);
	if (new Set(names).size < names.length) throw unusable("two nodes have one name");
}

function mustHave({ tenants }: FleetRecord, tenant: string): void {
	if (!tenants.includes(tenant)) throw unusable(`there is no tenant called ${tenant}`);
}

/** Writes what depends on users and leaf nodes. The record last: what it names is there. */
function save(directory: string, { record: fleet, made }: Changed): readonly string[] {
	check(fleet);
	const ca = readFileSync(join(directory, "ca.pem"), "utf8");
	const files = made.map(({ user, seed }) => {
		const { key: _, ...grant } = user;
		const path = credentialsFile(directory, user);
		makePrivate(dirname(path));
		write(path, formatCredentials({ ...grant, servers: fleet.nodes.map(serverAddress), ca }, seed));
		return path;
	});
	for (const node of fleet.nodes) {
		const into = nodeDirectory(directory, node);
		write(join(into, "accounts.conf"), accountsConfiguration(fleet));
		write(join(into, "server.conf"), serverConfiguration(fleet, node, fleet.routePassword));
	}
	for (const leaf of fleet.leaves) {
		const into = leafDirectory(directory, leaf);
		write(join(into, "accounts.conf"), leafAccounts(fleet, leaf));
		write(join(into, "server.conf"), leafConfiguration(fleet, leaf));
	}
	write(join(directory, "fleet.json"), `${JSON.stringify(fleet, null, "\t")}\n`);
	return files;
}

export const nodeDirectory = (directory: string, node: Pick<FleetNode, "name">): string =>
	join(directory, "nodes", node.name);

export const leafDirectory = (directory: string, leaf: Pick<FleetLeaf, "name">): string =>
	join(directory, "leaves", leaf.name);

const newPassword = (): string => randomBytes(24).toString("hex");

export const credentialsFile = (directory: string, user: Pick<FleetUser, "tenant" | "name">): string =>
	join(directory, "credentials", user.tenant, `${user.name}.creds`);

/** Whole or not at all: a server may reload at any time. */
function write(path: string, text: string): void {
	const temporary = `${path}.new`;
	rmSync(temporary, { force: true });
	writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
	renameSync(temporary, path);
}

const unusable = (problem: string, cause?: unknown) => new Fault("fleet_files_unusable", { problem }, { cause });
