// The caller, when it is this process: a name, and what a program that it starts
// would inherit from it.

import { getPriority } from "node:os";
import { passedOn } from "./pty/environment.ts";
import { limitsHere } from "./pty/resource-limits.ts";
import { parentFromEnvironment } from "./session/parent.ts";
import type { Caller } from "./tools/tool.ts";

export function callerHere(owner: string, cwd: string = process.cwd()): Caller {
	return {
		owner,
		cwd,
		env: passedOn(process.env),
		umask: process.umask(),
		nice: getPriority(),
		rlimits: limitsHere(),
		parent: parentFromEnvironment(process.env),
	};
}
