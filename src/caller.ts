// The caller, when it is this process: a name, and what a program that it starts
// would inherit from it.

import { getPriority } from "node:os";
import { type Inherit, inherited } from "./pty/environment.ts";
import { limitsHere } from "./pty/resource-limits.ts";
import { environmentRules, resolveOptions } from "./session/options.ts";
import { parentFromEnvironment } from "./session/parent.ts";
import type { Caller } from "./tools/tool.ts";

export function callerHere(owner: string, cwd: string = process.cwd()): Caller {
	const rules = environmentRules(resolveOptions({}, process.env));
	const inheriting = (inherit: Inherit = rules.inherit) => inherited(process.env, { ...rules, inherit });
	return {
		owner,
		cwd,
		...inheriting(),
		inheriting,
		umask: process.umask(),
		nice: getPriority(),
		rlimits: limitsHere(),
		parent: parentFromEnvironment(process.env),
	};
}
