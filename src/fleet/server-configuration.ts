// The texts of a fleet's nats-servers: one configuration for each node, and the accounts, which all nodes share.
// Pure: init.ts writes the files, permissions.ts says what each user may.

import { isIP } from "node:net";
import { type FleetGrant, permissionsOf, STORE_DELIVERIES, STORE_SERVICES } from "./permissions.ts";

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

export interface FleetPlan {
	readonly nodes: readonly FleetNode[];
	readonly tenants: readonly string[];
	readonly users: readonly FleetUser[];
}

/** As NATS has it by default: 4222 for clients, 6222 for routes. */
const ROUTES_ABOVE_CLIENTS = 2000;
const clusterPort = ({ port }: Pick<FleetNode, "port">): number => port + ROUTES_ABOVE_CLIENTS;

const SYSTEM = "SYS";
/** No tenant's name has a `_`. */
const storeOf = (tenant: string) => `${tenant}_store`;

/** In double quotes JSON and the server's format are the same, as far as we use it. */
const quoted = (text: string) => JSON.stringify(text);
const inBrackets = (host: string) => (isIP(host) === 6 ? `[${host}]` : host);
const addressOf = (host: string, port: number) => `${inBrackets(host)}:${port}`;
/** A name is looked up by clients; the server listens on all its addresses. */
const listenOn = (host: string, port: number) => quoted(addressOf(isIP(host) === 0 ? "0.0.0.0" : host, port));

/** Where clients connect. */
export const serverAddress = ({ host, port }: FleetNode): string => `tls://${addressOf(host, port)}`;

/** Paths are relative: the server is started in the directory of this file. */
export function serverConfiguration({ nodes }: FleetPlan, node: FleetNode, routePassword: string): string {
	return `# ${node.name}: start it in this directory with: nats-server -c server.conf
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

jetstream {
  store_dir: "data"
}
${nodes.length > 1 ? `\n${cluster(nodes, node, routePassword)}` : ""}
# Written by \`dialtone fleet\`; after a change: nats-server --signal reload=PID
include "accounts.conf"
`;
}

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
export function accountsConfiguration({ tenants, users }: FleetPlan): string {
	return `system_account: ${quoted(SYSTEM)}
accounts {
  ${quoted(SYSTEM)}: {}
${tenants
	.map((tenant) =>
		accountsOf(
			tenant,
			users.filter((user) => user.tenant === tenant),
		),
	)
	.join("")}}
`;
}

function accountsOf(tenant: string, users: readonly FleetUser[]): string {
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
    jetstream: { max_streams: 4 }
    exports: [
${exported.join("")}    ]
  }
  ${quoted(tenant)}: {
    imports: [
${imported.join("")}    ]
    users: [
${users.map(userEntry).join("")}    ]
  }
`;
}

function userEntry(user: FleetUser): string {
	const { publish, subscribe } = permissionsOf(user, user.key);
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
