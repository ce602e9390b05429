// The caller, when it is this process: its directory, its environment, and a name.

import { parentFromEnvironment } from "./session/parent.ts";
import type { Caller } from "./tools/tool.ts";

export function callerHere(owner: string, cwd: string = process.cwd()): Caller {
	const env: Record<string, string> = {};
	for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
	return { owner, cwd, env, parent: parentFromEnvironment(env) };
}
