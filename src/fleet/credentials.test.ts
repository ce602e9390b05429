import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createUser } from "@nats-io/nkeys";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FleetMembership, formatCredentials, parseCredentials, readCredentials } from "./credentials.ts";

const pair = createUser();
const seed = Buffer.from(pair.getSeed()).toString();
const member: FleetMembership = {
	tenant: "acme",
	name: "agent",
	role: "drive",
	owner: "mcp:claude",
	host: null,
	servers: ["tls://10.0.0.1:4222"],
	ca: "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",
};

describe("credentials", () => {
	test("of ours say who it is, where the servers are and whom to trust", () => {
		const read = parseCredentials(formatCredentials(member, seed));
		expect(read).toEqual({
			seed,
			publicKey: pair.getPublicKey(),
			jwt: null,
			member,
			inboxPrefix: `_INBOX.${pair.getPublicKey()}`,
		});
	});

	test("of NATS, and a seed alone, are read, too", () => {
		const nats = `-----BEGIN NATS USER JWT-----\neyJ0.eyJq.c2ln\n------END NATS USER JWT------\n\n*** IMPORTANT ***\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
		expect(parseCredentials(nats)).toMatchObject({ seed, jwt: "eyJ0.eyJq.c2ln", member: null });
		expect(parseCredentials(`${seed}\n`)).toMatchObject({ seed, jwt: null, member: null });
	});

	test.each([
		["nothing", ""],
		["a public key", pair.getPublicKey()],
		["a damaged seed", `${seed.slice(0, 20)}${seed[20] === "A" ? "B" : "A"}${seed.slice(21)}`],
		["a role that there is not", formatCredentials({ ...member, role: "root" as "drive" }, seed)],
		["no server", formatCredentials({ ...member, servers: [] }, seed)],
		["half a line", formatCredentials(member, seed).replace('"]', "")],
	])("with %s are refused", (_, text) => {
		expect(() => parseCredentials(text)).toThrow();
	});
});

describe("a credentials file", () => {
	let directory: string;
	let path: string;
	beforeAll(() => {
		directory = mkdtempSync(join(tmpdir(), "dt-creds-"));
		path = join(directory, "a.creds");
		writeFileSync(path, formatCredentials(member, seed), { mode: 0o600 });
	});
	afterAll(() => rmSync(directory, { recursive: true }));

	test("is read where it is private", () => {
		expect(readCredentials(path).member).toEqual(member);
	});

	test("is refused where others can read it, by a link, and where there is none", () => {
		chmodSync(path, 0o640);
		expect(() => readCredentials(path)).toThrow(/open to other users/);
		chmodSync(path, 0o600);
		symlinkSync(path, join(directory, "link"));
		expect(() => readCredentials(join(directory, "link"))).toThrow(/symbolic link/);
		expect(() => readCredentials(join(directory, "none"))).toThrow(/ENOENT/);
	});
});
