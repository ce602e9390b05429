// V8 may leave the garbage of an idle process where it is for minutes. A thousand screens that
// were put away leave 80 MB of it, more than twice what their sessions need.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A full collection that returns memory to the system, at once: some 80 ms at 100 MB. */
export function collectGarbage(): void {
	// Not options of the process: the bundle's compiled code is rejected where those differ.
	setFlagsFromString("--expose-gc");
	setFlagsFromString("--compact-on-every-full-gc");
	(runInNewContext("gc") as () => void)();
	setFlagsFromString("--no-compact-on-every-full-gc");
}
