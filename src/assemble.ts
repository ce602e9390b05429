// Makes the parts of a daemon, or of a Dialtone inside another program: places,
// options, engine, exchange.

import { type Places, preparePlaces } from "./pty/places.ts";
import { Engine } from "./session/engine.ts";
import { type Options, resolveOptions } from "./session/options.ts";
import { LocalExchange } from "./tools/local-exchange.ts";
import type { Caller } from "./tools/tool.ts";
import { VERSION } from "./version.ts";

export interface Assembly {
	readonly places: Places;
	readonly epoch: number;
	readonly options?: Partial<Options>;
	readonly environment?: Readonly<Record<string, string | undefined>>;
	readonly caller: Caller;
	readonly socket: string | null;
	readonly http?: () => string | null;
	readonly onProblem: (problem: unknown, doing: string) => void;
	readonly onFenced: () => void;
}

export async function assemble(parts: Assembly): Promise<{ engine: Engine; exchange: LocalExchange }> {
	const { places, epoch, caller, onProblem, onFenced } = parts;
	const options = resolveOptions(parts.options, parts.environment);
	await preparePlaces(places);
	const engine = await Engine.open({ places, options, epoch, onProblem, onFenced });
	const startedAt = Date.now();
	const exchange = new LocalExchange({
		engine,
		caller,
		status: () => ({
			pid: process.pid,
			version: VERSION,
			socket: parts.socket,
			sessions: engine.runningCount(),
			startedAt,
			http: parts.http?.() ?? null,
		}),
	});
	return { engine, exchange };
}
