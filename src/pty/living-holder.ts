// A holder that cannot be talked to, because what is needed for that is missing: found by who listens on its socket,
// and ended by a signal to its process.

import { connect } from "node:net";
import { readExit } from "./exit-file.ts";
import { GONE } from "./holder-client.ts";
import { listeningPid } from "./native.ts";
import { identityOf, isAlive, type ProcessIdentity, sendSignal } from "./process-stat.ts";
import { isHolder } from "./process-tree.ts";
import type { PtyExit } from "./pty.ts";
import { type WaitScope, wait } from "./wait.ts";

/** On TERM a holder ends its session with a grace of 2 s, and counts survivors after 3 more. */
const END_MS = 7000;
/** No event tells the death of a process that is not our child. */
const POLL_MS = 50;

/** Who listens on a session's socket, its pid 0 where the system does not tell; null where no process does. */
export function listenerAt(socketPath: string): Promise<ProcessIdentity | null> {
	const start = (scope: WaitScope<ProcessIdentity | null>) => {
		const socket = connect({ path: socketPath });
		scope.own(() => socket.destroy());
		socket
			.on("connect", () => scope.settle(identityOf(listeningPid(socket))))
			.on("error", (error: NodeJS.ErrnoException) => {
				if (GONE.has(error.code ?? "")) scope.settle(null);
				else scope.fail(error);
			});
	};
	return wait([{ start }]);
}

/** Has the holder end its session in order; returns what could not be ended. Null where no such holder lives. */
export async function endHolder(
	holder: ProcessIdentity,
	{ directory, force }: { readonly directory: string; readonly force: boolean },
): Promise<PtyExit["survivors"] | null> {
	if (!isAlive(holder) || !isHolder(holder.pid)) return null;
	const tell = () => {
		if (!isAlive(holder)) return;
		sendSignal(holder, "SIGTERM");
		sendSignal(holder, "SIGCONT"); // one that was stopped takes it, too
	};
	const start = (scope: WaitScope<boolean>) => {
		const poll = setInterval(() => {
			if (!isAlive(holder)) scope.settle(true);
			else if (force) tell(); // the second one kills
		}, POLL_MS);
		scope.own(() => clearInterval(poll));
		scope.after(END_MS, () => scope.settle(false));
		tell();
	};
	if (!(await wait([{ start }]))) return [{ pid: holder.pid, command: "dialtone-holder" }];
	return (await readExit(directory).catch(() => null))?.survivors ?? []; // its directory is gone, or cannot be read
}
