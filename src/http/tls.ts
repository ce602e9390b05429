// HTTP for other machines: an address that was named, a certificate, and the exact names under which it is asked
// for. Without all of it we listen on loopback only.

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { Fault } from "../protocol/fault.ts";
import { readPrivately } from "../pty/checked-file.ts";

export interface Tls {
	/** An address of this machine. */
	readonly host: string;
	/** What the certificate is for, the first one in our own address. */
	readonly names: readonly string[];
	/** In PEM; `readTls` takes the paths. */
	readonly cert: string;
	readonly key: string;
}

const ALL_ADDRESSES: readonly string[] = ["0.0.0.0", "::"];
const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** The same with the files read; the address is a name too, unless it is that of all. Throws where the key is open to others, or something does not fit. */
export function readTls({ host, names, cert, key }: Tls): Tls {
	if (isIP(host) === 0) throw unusable(`${host} is not an address`);
	const wrong = names.find((name) => isIP(name) === 0 && !NAME.test(name.toLowerCase()));
	if (wrong !== undefined) throw unusable(`${wrong} is not a name`);
	const all = [...names, ...(ALL_ADDRESSES.includes(host) ? [] : [host])];
	if (all.length === 0) throw unusable("name the machine as others do, with --name");
	const pair = {
		cert: contentOf(cert, () => readFileSync(cert, "utf8")),
		key: contentOf(key, () => readPrivately(key)),
	};
	try {
		createSecureContext(pair);
	} catch (error) {
		throw unusable(`the certificate and the key cannot be used (${(error as Error).message})`, error);
	}
	return { host, ...pair, names: all.map((name) => (isIP(name) === 6 ? `[${name}]` : name.toLowerCase())) };
}

function contentOf(path: string, read: () => string): string {
	try {
		return read();
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		throw unusable(`${path} ${code === undefined ? message : `cannot be read (${code})`}`, error);
	}
}

const unusable = (problem: string, cause?: unknown) => new Fault("tls_unusable", { problem }, { cause });
