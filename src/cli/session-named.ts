// The session of a command: its first word. The daemon resolves a name, the
// prefix of an id or `-` for the last one, the same for every interface.

import { Fault } from "../protocol/fault.ts";
import type { Invocation } from "./command.ts";

export function sessionNamed({ words }: Invocation): string {
	const [session] = words;
	if (session === undefined) throw new Fault("bad_input", { problems: ["a session is missing"] });
	return session;
}
