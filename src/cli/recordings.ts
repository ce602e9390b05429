// A session's recording: written in a format others read, or played back here.
// Reads the session's files; the daemon need not run.

import { Fault } from "../protocol/fault.ts";
import type { Invocation } from "./verb.ts";

export async function exportRecording(_it: Invocation): Promise<number> {
	throw new Fault("not_supported", { what: "export", instead: "Use `dialtone logs SESSION > FILE`." });
}

export async function replay(_it: Invocation): Promise<number> {
	throw new Fault("not_supported", { what: "replay", instead: "Use `dialtone logs SESSION`." });
}
