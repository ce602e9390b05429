// A client that goes on after an outage, as the command line and the library do: it reconnects, and repeats what is
// safe to repeat. What it is told meanwhile must be a documented fault, never a defect and never silence.

import type { SocketClient } from "../../src/daemon/socket-client.ts";
import { Fault, type FaultCode } from "../../src/protocol/fault.ts";
import type { Home } from "../daemon/home.ts";

/** What a caller may hear while daemons and holders are killed, stopped, and short of disk. */
const EXPECTED: ReadonlySet<FaultCode> = new Set<FaultCode>([
	"no_daemon",
	"daemon_replaced",
	"taken_over",
	"unresponsive",
	"session_unreachable",
	"spawn_failed",
	"unusable_home",
]);
/** Longer than any stop of a daemon or holder here. */
const CALL_MS = 30_000;
const OUTAGE_MS = 90_000;

export class PatientClient implements AsyncDisposable {
	readonly #home: Home;
	readonly faults: Map<string, number>;
	readonly #problems: string[];
	#client: SocketClient | null = null;

	/** Faults are counted by code; whatever else it hears is a problem. */
	constructor(home: Home, { faults, problems }: { faults: Map<string, number>; problems: string[] }) {
		this.#home = home;
		this.faults = faults;
		this.#problems = problems;
	}

	/** Does it, however often it takes; what only fails for a long time is a failure. */
	async persist<T>(what: string, act: (client: SocketClient, signal: AbortSignal) => Promise<T>): Promise<T> {
		const deadline = Date.now() + OUTAGE_MS;
		for (;;) {
			try {
				if (this.#client === null || this.#client.lost) this.#client = await this.#home.connect();
				return await act(this.#client, AbortSignal.timeout(CALL_MS));
			} catch (error) {
				const code = error instanceof Fault ? error.code : (error as Error).name;
				this.faults.set(code, (this.faults.get(code) ?? 0) + 1);
				if (!(error instanceof Fault && EXPECTED.has(error.code)))
					this.#problems.push(`${what}: ${code}: ${(error as Error).message}`);
				if (Date.now() > deadline) throw new Error(`${what} failed for ${OUTAGE_MS} ms: ${(error as Error).message}`);
				await new Promise((resolve) => setTimeout(resolve, 100));
			}
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#client?.[Symbol.asyncDispose]();
	}
}
