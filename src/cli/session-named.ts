// The session a command is about: its first word. The daemon knows what a name, the
// beginning of an id or `-` for the last one means, the same for every way in.

import { Fault } from "../protocol/fault.ts";
import type { Invocation } from "./command.ts";

export function sessionNamed({ words }: Invocation): string {
	const [session] = words;
	if (session === undefined) throw new Fault("bad_input", { problems: ["a session is missing"] });
	return session;
}
