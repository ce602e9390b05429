// A slow way to one server: what goes through arrives later, in its order, in both directions. For where the kernel has no
// netem; unlike network.ts it slows connections, not packets, and only those of clients that are told its address.

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export class SlowLink implements AsyncDisposable {
	readonly #server: Server;
	readonly #ends = new Set<Socket>();
	readonly #clients = new Set<Socket>();
	readonly #timers = new Set<NodeJS.Timeout>();
	/** Each way. */
	delayMs = 0;
	#isStalled = false;
	#isClosed = false;

	private constructor(target: URL) {
		this.#server = createServer((near) => {
			const far = connect(Number(target.port), target.hostname);
			this.#clients.add(near);
			near.on("close", () => this.#clients.delete(near));
			this.#join(near, far);
			this.#join(far, near);
		});
	}

	/** To an address as `Brokers.servers` has them. */
	static async to(address: string, { delayMs = 0 } = {}): Promise<SlowLink> {
		// The scheme is not one that URL takes apart.
		const link = new SlowLink(new URL(address.replace(/^\w+:/, "http:")));
		link.delayMs = delayMs;
		await once(link.#server.listen(0, "127.0.0.1"), "listening");
		return link;
	}

	/** For `servers` of a connection. */
	get address(): string {
		return `tls://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
	}

	/** Nothing gets through, or nothing to the server, and nobody is told. */
	stall({ onlyToServer = false } = {}): void {
		this.#isStalled = true;
		for (const end of onlyToServer ? this.#clients : this.#ends) end.pause();
	}

	/** What was held back goes on. */
	resume(): void {
		this.#isStalled = false;
		for (const end of this.#ends) end.resume();
	}

	/** Every connection through it ends. */
	reset(): void {
		for (const end of this.#ends) end.destroy();
	}

	#join(from: Socket, to: Socket): void {
		this.#ends.add(from);
		from.setNoDelay(true);
		if (this.#isStalled) from.pause();
		const late = this.#queue();
		from.on("data", (bytes) => late(() => void (to.destroyed || to.write(bytes))));
		from.on("error", () => {}); // the close that follows says it
		from.on("close", () => {
			this.#ends.delete(from);
			late(() => to.destroy());
		});
	}

	/** Does each thing after the delay of its time, and none before the one before it. */
	#queue(): (act: () => void) => void {
		const waiting: { readonly at: number; readonly act: () => void }[] = [];
		const next = () => {
			const [first] = waiting;
			if (first === undefined) return;
			const timer = setTimeout(
				() => {
					this.#timers.delete(timer);
					waiting.shift();
					first.act();
					next();
				},
				Math.max(0, first.at - performance.now()),
			);
			this.#timers.add(timer);
		};
		return (act) => {
			if (this.#isClosed) return act();
			waiting.push({ at: performance.now() + this.delayMs, act });
			if (waiting.length === 1) next();
		};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const closed = once(this.#server, "close");
		this.#isClosed = true;
		this.#server.close();
		for (const timer of this.#timers) clearTimeout(timer);
		this.reset();
		await closed;
	}
}
