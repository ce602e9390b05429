// An authority for one fleet, and the certificates of its servers.
//
// Made by the openssl program: node has no function for it, and the machine on which a fleet is set up has it. Who has an
// authority already replaces ca.pem, and cert.pem and key.pem of the nodes.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { Fault } from "../protocol/fault.ts";

/** A server's certificate ends with its fleet's authority: nobody renews it in time. */
const DAYS = "3650";
const EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** Writes ca.pem and ca.key. */
export function makeAuthority(directory: string): void {
	openssl(directory, [
		...["req", "-x509", "-new", ...EC, "-keyout", "ca.key", "-out", "ca.pem", "-days", DAYS],
		...["-subj", "/CN=Dialtone fleet", "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
	]);
}

/** Writes cert.pem and key.pem into `into`, for a server that is found by this name or address. */
export function makeCertificate(authority: string, into: string, host: string): void {
	const request = openssl(into, ["req", "-new", ...EC, "-keyout", "key.pem", "-subj", "/CN=Dialtone fleet server"]);
	// In a file, because older versions of openssl copy no extensions from a request.
	const extensions = join(into, "extensions");
	writeFileSync(
		extensions,
		[
			// For an address @nats-io/transport-node passes no name on, and node then looks for this one.
			`subjectAltName=${isIP(host) === 0 ? `DNS:${host}` : `IP:${host},DNS:localhost`}`,
			"basicConstraints=critical,CA:FALSE",
			"extendedKeyUsage=serverAuth,clientAuth", // to routes it is a client
		].join("\n"),
		{ mode: 0o600 },
	);
	const ca = ["-CA", join(authority, "ca.pem"), "-CAkey", join(authority, "ca.key")];
	const serial = ["-set_serial", `0x01${randomBytes(15).toString("hex")}`];
	openssl(into, ["x509", "-req", ...ca, ...serial, "-out", "cert.pem", "-days", DAYS, "-extfile", extensions], request);
	rmSync(extensions);
}

function openssl(directory: string, args: readonly string[], input = ""): string {
	try {
		return execFileSync("openssl", args, { cwd: directory, input, encoding: "utf8", stdio: ["pipe", "pipe", "pipe"] });
	} catch (cause) {
		const { code, stderr } = cause as NodeJS.ErrnoException & { stderr?: string };
		const problem =
			code === "ENOENT" ? "the openssl program is not installed" : `openssl failed: ${stderr?.trim() ?? String(cause)}`;
		throw new Fault("fleet_files_unusable", { problem }, { cause });
	}
}
