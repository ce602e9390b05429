// Creates the parts of a daemon, or of a Dialtone inside another program: places,
// options, sessions, client.

import type { Places } from "./pty/places.ts";
import { type Options, resolveOptions } from "./session/options.ts";
import { Sessions } from "./session/sessions.ts";
import { LocalClient } from "./tools/local-client.ts";
import type { Caller } from "./tools/tool.ts";
import { VERSION } from "./version.ts";

export interface Assembly {
	/** Prepared already. */
	readonly places: Places;
	readonly epoch: number;
	readonly options?: Partial<Options>;
	readonly environment?: Readonly<Record<string, string | undefined>>;
	/** Variables that secrets are taken from; this process's own by default. */
	readonly secretValues?: Readonly<Record<string, string | undefined>> | undefined;
	readonly caller: Caller;
	readonly socket: string | null;
	readonly http?: () => string | null;
	readonly onProblem: (problem: unknown, doing: string) => void;
	readonly onFenced: () => void;
	readonly onManyHibernated?: () => void;
	/** Sessions end with this process. */
	readonly endsWithOwner?: boolean;
}

export async function assemble(parts: Assembly): Promise<{ sessions: Sessions; client: LocalClient }> {
	const { places, epoch, caller, onProblem, onFenced, onManyHibernated, endsWithOwner } = parts;
	const options = resolveOptions(parts.options, parts.environment);
	const sessions = await Sessions.open({
		places,
		options,
		epoch,
		onProblem,
		onFenced,
		onManyHibernated,
		endsWithOwner,
		secretValues: parts.secretValues,
	});
	const startedAt = Date.now();
	const client = new LocalClient({
		sessions,
		places,
		caller,
		status: () => ({
			pid: process.pid,
			version: VERSION,
			socket: parts.socket,
			sessions: sessions.runningCount(),
			startedAt,
			http: parts.http?.() ?? null,
		}),
	});
	return { sessions, client };
}
