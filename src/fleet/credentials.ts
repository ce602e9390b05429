// The file with which a daemon joins: who it is, where the servers are, whom to trust, and the key that proves it.
//
// Ours is one text: comments with what NATS has no field for, then the seed as in NATS's own files. A NATS .creds file
// (JWT and seed) and a bare seed are read, too; they say nothing of servers and roles.

import { fromSeed } from "@nats-io/nkeys";
import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import { problemOf, readPrivately } from "../pty/checked-file.ts";
import { FLEET_ROLES, type FleetGrant, inboxPrefix } from "./permissions.ts";

/** What a file of ours says beside the key. */
export interface FleetMembership extends FleetGrant {
	readonly tenant: string;
	/** The user's name. */
	readonly name: string;
	/** `tls://host:port`. */
	readonly servers: readonly string[];
	/** The authority that the servers' certificates are of, in PEM; without it, those that the system trusts. */
	readonly ca?: string | undefined;
}

export interface Credentials {
	readonly seed: string;
	readonly publicKey: string;
	/** Of a NATS file. */
	readonly jwt: string | null;
	/** Null where it is not a file of ours. */
	readonly member: FleetMembership | null;
	/** To connect with: answers arrive only there. */
	readonly inboxPrefix: string;
}

const MARK = "# dialtone-fleet: ";
const SEED = /-{3,}BEGIN USER NKEY SEED-{3,}\s+(SU[A-Z2-7]+)\s+-{3,}END USER NKEY SEED-{3,}/;
const JWT = /-{3,}BEGIN NATS USER JWT-{3,}\s+([\w.-]+)\s+-{3,}END NATS USER JWT-{3,}/;
const BARE_SEED = /^\s*(SU[A-Z2-7]{56})\s*$/;

const membership = z.object({
	tenant: z.string(),
	name: z.string(),
	role: z.enum(FLEET_ROLES),
	owner: z.string().min(1).nullable(),
	host: z.string().min(1).nullable().default(null),
	servers: z.array(z.string()).min(1),
	ca: z.string().optional(),
});

export function formatCredentials(member: FleetMembership, seed: string): string {
	return `# Whoever has this file is "${member.name}" of "${member.tenant}": keep it private (chmod 600).
${MARK}${JSON.stringify(member)}
-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------
`;
}

/** Throws where others could have read or written the file, or it is none of the three kinds. */
export function readCredentials(path: string): Credentials {
	try {
		return parseCredentials(readPrivately(path));
	} catch (cause) {
		throw new Fault("fleet_files_unusable", { problem: `${path} ${problemOf(cause)}` }, { cause });
	}
}

export function parseCredentials(text: string): Credentials {
	const seed = SEED.exec(text)?.[1] ?? BARE_SEED.exec(text)?.[1];
	if (seed === undefined) throw new Error("has no seed of a NATS user");
	const publicKey = publicKeyOf(seed);
	const line = text.split("\n").find((one) => one.startsWith(MARK));
	return {
		seed,
		publicKey,
		jwt: JWT.exec(text)?.[1] ?? null,
		member: line === undefined ? null : membership.parse(JSON.parse(line.slice(MARK.length))),
		inboxPrefix: inboxPrefix(publicKey),
	};
}

function publicKeyOf(seed: string): string {
	try {
		return fromSeed(Buffer.from(seed)).getPublicKey();
	} catch (cause) {
		throw new Error("has a damaged seed", { cause });
	}
}
