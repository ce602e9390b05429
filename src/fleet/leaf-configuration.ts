// The texts of a leaf node: a server of a site, which holds the one connection from there to the fleet's nodes.
//
// It knows the users of its tenant and what each may, as the nodes do, so that the same credentials are used with either.
// It stores nothing: JetStream of the nodes is reached by the name of its domain, and a server looks at the permissions
// after it has put that name in.

import { permissionsOf } from "./permissions.ts";
import {
	type FleetLeaf,
	type FleetPlan,
	JETSTREAM_DOMAIN,
	leafAddress,
	quoted,
	serverBeginning,
	userEntry,
} from "./server-configuration.ts";

export function leafConfiguration({ nodes }: FleetPlan, leaf: FleetLeaf): string {
	return `${serverBeginning(leaf)}
default_js_domain: { ${quoted(leaf.tenant)}: ${quoted(JETSTREAM_DOMAIN)} }

leafnodes {
  reconnect: 1
  remotes: [
    {
      account: ${quoted(leaf.tenant)}
      urls: [
${nodes.map((node) => `        ${quoted(leafAddress(leaf, node))}\n`).join("")}      ]
      tls {
        ca_file: "ca.pem"
        timeout: 5
      }
    }
  ]
}
`;
}

export function leafAccounts({ users }: FleetPlan, { tenant }: FleetLeaf): string {
	const own = users.filter((user) => user.tenant === tenant);
	const entries = own.map((user) => {
		const { publish, subscribe } = permissionsOf(user, user.key);
		return userEntry(user, { publish: publish.flatMap(inDomain), subscribe });
	});
	return `accounts {
  ${quoted(tenant)}: {
    users: [
${entries.join("")}    ]
  }
}
`;
}

const API = "$JS.API.";
const inDomain = (subject: string): readonly string[] => {
	if (subject.startsWith(API)) return [`$JS.${JETSTREAM_DOMAIN}.API.${subject.slice(API.length)}`];
	return subject.startsWith("$KV.") ? [subject, `$JS.${JETSTREAM_DOMAIN}.API.${subject}`] : [subject];
};
