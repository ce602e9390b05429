// The texts of a fleet's nats-servers: one configuration for each node, and the accounts, which all nodes share.
// Pure: init.ts writes the files, permissions.ts says what each user may. Leaf nodes are in leaf-configuration.ts.

import { isIP } from "node:net";
import { type FleetGrant, type Permissions, permissionsOf, STORE_DELIVERIES, STORE_SERVICES } from "./permissions.ts";

/** A server: its name, the address by which clients and other servers find it, and the port for clients. */
export interface FleetNode {
	readonly name: string;
	readonly host: string;
	readonly port: number;
}

export interface FleetUser extends FleetGrant {
	/** Unique in its tenant. */
	readonly name: string;
	readonly tenant: string;
	/** Public; the seed is in its credentials file and nowhere else. */
	readonly key: string;
}

/** A server of a site, for one tenant: machines there connect to it, and it to the nodes. */
export interface FleetLeaf extends FleetNode {
	readonly tenant: string;
	/** With which it connects to the nodes. */
	readonly password: string;
}

export interface FleetPlan {
	readonly nodes: readonly FleetNode[];
	readonly leaves: readonly FleetLeaf[];
	readonly tenants: readonly string[];
	readonly users: readonly FleetUser[];
}

/** As NATS has them by default: 4222 for clients, 6222 for routes, 7422 for leaf nodes. */
const ROUTES_ABOVE_CLIENTS = 2000;
const LEAVES_ABOVE_CLIENTS = 3200;
const clusterPort = ({ port }: Pick<FleetNode, "port">): number => port + ROUTES_ABOVE_CLIENTS;
const leafPort = ({ port }: Pick<FleetNode, "port">): number => port + LEAVES_ABOVE_CLIENTS;

/** Of the nodes' JetStream: by this name leaf nodes reach it. */
export const JETSTREAM_DOMAIN = "dialtone";

const SYSTEM = "SYS";
/** Of a tenant: a machine has about five. How much is stored, the streams themselves limit (buckets.ts). */
const MOST_CONSUMERS = 20_000;
/** No tenant's name has a `_`. */
const storeOf = (tenant: string) => `${tenant}_store`;

/** In double quotes JSON and the server's format are the same, as far as we use it. */
export const quoted = (text: string) => JSON.stringify(text);
const inBrackets = (host: string) => (isIP(host) === 6 ? `[${host}]` : host);
const addressOf = (host: string, port: number) => `${inBrackets(host)}:${port}`;
/** A name is looked up by clients; the server listens on all its addresses. */
const listenOn = (host: string, port: number) => quoted(addressOf(isIP(host) === 0 ? "0.0.0.0" : host, port));

/** Where leaf nodes connect. */
export const leafAddress = ({ name, password }: FleetLeaf, node: FleetNode): string =>
	`tls://${leafUser(name)}:${password}@${addressOf(node.host, leafPort(node))}`;
const leafUser = (name: string) => `leaf-${name}`;

/** Where clients connect. */
export const serverAddress = ({ host, port }: FleetNode): string => `tls://${addressOf(host, port)}`;

/** What every server begins with. Paths are relative: it is started in the directory of this file. */
export const serverBeginning = (
	node: FleetNode,
): string => `# ${node.name}: start it in this directory with: nats-server -c server.conf
server_name: ${quoted(node.name)}
listen: ${listenOn(node.host, node.port)}

tls {
  cert_file: "cert.pem"
  key_file: "key.pem"
  timeout: 5
}

# A machine that is cut off counts as connected until this finds out (while nothing is sent to it). By default that takes minutes.
ping_interval: "5s"
ping_max: 2

# Written by \`dialtone fleet\`; after a change: nats-server --signal reload=PID
include "accounts.conf"
`;

export function serverConfiguration({ nodes, leaves }: FleetPlan, node: FleetNode, routePassword: string): string {
	return `${serverBeginning(node)}
jetstream {
  store_dir: "data"
  domain: ${quoted(JETSTREAM_DOMAIN)}
}
${nodes.length > 1 ? `\n${cluster(nodes, node, routePassword)}` : ""}${leaves.length > 0 ? `\n${forLeaves(node)}` : ""}`;
}

/** They are users of their tenants, who may connect in no other way. */
const forLeaves = (node: FleetNode): string => `leafnodes {
  listen: ${listenOn(node.host, leafPort(node))}
  no_advertise: true
  tls {
    cert_file: "cert.pem"
    key_file: "key.pem"
    timeout: 5
  }
}
`;

/** Others are admitted by a certificate of the fleet's authority and the password. */
function cluster(nodes: readonly FleetNode[], node: FleetNode, password: string): string {
	const routes = nodes
		.filter(({ name }) => name !== node.name)
		.map((other) => `    ${quoted(`nats-route://route:${password}@${addressOf(other.host, clusterPort(other))}`)}`);
	return `cluster {
  name: "dialtone"
  listen: ${listenOn(node.host, clusterPort(node))}
  # Credentials name all servers; an address that a server found out by itself may not be in its certificate.
  no_advertise: true
  authorization { user: "route", password: ${quoted(password)}, timeout: 5 }
  tls {
    cert_file: "cert.pem"
    key_file: "key.pem"
    ca_file: "ca.pem"
    verify: true
    timeout: 5
  }
  routes: [
${routes.join("\n")}
  ]
}
`;
}

/** Who may connect, and what each may: the same on all nodes. */
export function accountsConfiguration({ tenants, users, leaves }: FleetPlan): string {
	return `system_account: ${quoted(SYSTEM)}
accounts {
  ${quoted(SYSTEM)}: {}
${tenants
	.map((tenant) =>
		accountsOf(
			tenant,
			users.filter((user) => user.tenant === tenant),
			leaves.filter((leaf) => leaf.tenant === tenant),
		),
	)
	.join("")}}
`;
}

function accountsOf(tenant: string, users: readonly FleetUser[], leaves: readonly FleetLeaf[]): string {
	const store = quoted(storeOf(tenant));
	const exported = [
		...STORE_SERVICES.map((subject) => `      { service: ${quoted(subject)} }\n`),
		`      { stream: ${quoted(STORE_DELIVERIES)} }\n`,
	];
	const imported = [
		...STORE_SERVICES.map((subject) => `      { service: { account: ${store}, subject: ${quoted(subject)} } }\n`),
		`      { stream: { account: ${store}, subject: ${quoted(STORE_DELIVERIES)} } }\n`,
	];
	return `  ${store}: {
    jetstream: { max_streams: 4, max_consumers: ${MOST_CONSUMERS} }
    exports: [
${exported.join("")}    ]
  }
  ${quoted(tenant)}: {
    imports: [
${imported.join("")}    ]
    users: [
${users.map((user) => userEntry(user, permissionsOf(user, user.key))).join("")}${leaves.map(leafEntry).join("")}    ]
  }
`;
}

/** It checks what its own users may, as we would: it is trusted with all of its tenant. */
const leafEntry = ({ name, password }: FleetLeaf): string => `      { # leaf node
        user: ${quoted(leafUser(name))}
        password: ${quoted(password)}
        allowed_connection_types: ["LEAFNODE"]
      }
`;

export function userEntry(user: FleetUser, { publish, subscribe }: Permissions): string {
	const list = (subjects: readonly string[]) => subjects.map((subject) => `            ${quoted(subject)}\n`).join("");
	return `      { # ${user.name}
        nkey: ${quoted(user.key)}
        permissions: {
          publish: { allow: [
${list(publish)}          ] }
          subscribe: { allow: [
${list(subscribe)}          ] }
        }
      }
`;
}
