// Variables that are the source of a secret: handed to the daemon by the process that starts it, through a
// pipe. In its environment every program of its user could read them (/proc/PID/environ).

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { places } from "../pty/places.ts";

const VARIABLE = "DIALTONE_SECRETS_ON";
const POLICY_FILE = "policy.json";

type Values = Readonly<Record<string, string>>;

/** What the policy of this home names, as far as it is set here; null where there is nothing to hand over. */
export async function toHandOver(env: NodeJS.ProcessEnv): Promise<Values | null> {
	const { state } = places(env);
	if (!existsSync(join(state, POLICY_FILE))) return null; // almost always: then nothing is loaded for it
	const [{ Policy }, { secretVariables }] = await Promise.all([
		import("../session/policy.ts"),
		import("../session/secrets.ts"),
	]);
	try {
		const names = secretVariables(new Policy(state).current().secrets);
		const values = Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
		return names.length === 0 ? null : values;
	} catch {
		return null; // a policy that cannot be used is told by the calls that need it
	}
}

/** What tells the daemon that they are on its standard input. */
export const handedOver = (values: Values | null): Values => (values === null ? {} : { [VARIABLE]: "stdin" });

/** What was handed over to this process, once. */
export function takeHandedOver(env: NodeJS.ProcessEnv): Values {
	if (env[VARIABLE] !== "stdin") return {};
	delete env[VARIABLE];
	return JSON.parse(readFileSync(0, "utf8")) as Values;
}
