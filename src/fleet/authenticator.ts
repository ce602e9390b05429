// How the servers are shown that the key of these credentials is ours.

import { type Authenticator, jwtAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";
import type { Credentials } from "./credentials.ts";

export function authenticatorOf({ seed, jwt }: Pick<Credentials, "seed" | "jwt">): Authenticator {
	const key = new TextEncoder().encode(seed);
	return jwt === null ? nkeyAuthenticator(key) : jwtAuthenticator(jwt, key);
}
