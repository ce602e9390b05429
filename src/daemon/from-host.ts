// What the daemon of another machine says, as it is taken in: text that a model or a terminal is shown has passed the
// filter of this machine, whatever the other one did. Of an honest one nothing changes.

import { cleanValues } from "../protocol/clean.ts";
import type { Response } from "./wire.ts";

/** What has to stay as a program wrote it, by what was asked for: for programs, and for a terminal that is drawn. */
const AS_WRITTEN: Readonly<Record<string, readonly string[]>> = {
	run: ["stdout", "stderr"],
	unified_exec: ["output"],
	write_stdin: ["output"],
	snapshot: ["content"],
	view: ["content"],
};

export function fromHost(response: Response, doing: string): Response {
	const isBytes = "more" in response && "bytes" in response.more;
	return isBytes ? response : (cleanValues(response, AS_WRITTEN[doing]) as Response);
}
