// The host's end of all links to it: answers requests to open one, gives each frame to its link, and keeps the number of
// links and what they hold within bounds. Who asks is what the subject says.

import { guarded } from "../protocol/boundary.ts";
import { Fault } from "../protocol/fault.ts";
import type { FleetConnection } from "./connection.ts";
import { decodeFrame, encodeFrame } from "./frames.ts";
import type { FleetIdentity } from "./identity.ts";
import { Link, newLinkId, type Opened } from "./link.ts";
import { isOpenedInbox } from "./permissions.ts";
import { allOpens, allUps, askerIn, downSubject, isHostName, linkIn, upSubject } from "./subjects.ts";

/** One for each daemon of the fleet that asks, with room. */
const MAX_LINKS = 4096;
/** Of one role and owner: all hosts of a fleet ask as the same. */
const MAX_OF_IDENTITY = 1024;
/** What has arrived and waits for its reader, over all links: above it the link that has most is ended. */
const MAX_HELD_BYTES = 64 << 20;
const MAX_REQUEST_BYTES = 4096;

export interface FleetHostParts {
	/** Serves a link. What it throws is told to the one who asked. */
	readonly accept: (link: Link, as: FleetIdentity) => void;
	readonly epoch: number;
	readonly bootId: string;
	readonly version?: string;
}

export class FleetHost implements AsyncDisposable {
	readonly #connection: FleetConnection;
	readonly #parts: FleetHostParts;
	/** By the subject on which their clients write. */
	readonly #links = new Map<string, Link>();
	readonly #perIdentity = new Map<string, number>();
	readonly #subscriptions: readonly { unsubscribe(): void }[];
	#held = 0;

	constructor(connection: FleetConnection, parts: FleetHostParts) {
		this.#connection = connection;
		this.#parts = parts;
		const { host } = connection.options;
		const { nats } = connection;
		this.#subscriptions = [
			nats.subscribe(allOpens(host), {
				callback: guarded("a request to open a link", (error, { subject, data, reply }) => {
					if (error !== null) throw error;
					this.#answer(subject, data, reply);
				}),
			}),
			nats.subscribe(allUps(host), {
				callback: guarded("a frame of a link", (error, { subject, data, headers }) => {
					if (error !== null) throw error;
					this.#receive(subject, data, headers?.code);
				}),
			}),
		];
	}

	/** How many links are open. */
	get links(): number {
		return this.#links.size;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const subscription of this.#subscriptions) subscription.unsubscribe();
		for (const link of [...this.#links.values()]) link.destroy();
	}

	#answer(subject: string, data: Uint8Array, reply: string | undefined): void {
		// The one who asks chooses it, and we may publish where it may not.
		if (reply === undefined || !isOpenedInbox(reply)) return;
		this.#connection.nats.publish(reply, JSON.stringify(this.#opened(subject, data)));
	}

	#opened(subject: string, data: Uint8Array): Opened {
		const { epoch, bootId, version = "" } = this.#parts;
		try {
			const known = askerIn(subject);
			if (known === null) throw new Fault("not_allowed", { what: "A link for this role and owner" });
			const from = fromIn(data);
			const link = this.#open({ ...known, ...(from !== null && { from }) });
			return { link, epoch, bootId, version };
		} catch (error) {
			if (!(error instanceof Fault)) throw error;
			return { fault: error.toJSON() };
		}
	}

	#open(as: FleetIdentity): string {
		const id = newLinkId();
		const identity = `${as.role}.${as.owner ?? ""}.${as.owner === null}`;
		const before = this.#perIdentity.get(identity) ?? 0;
		if (this.#links.size >= MAX_LINKS || before >= MAX_OF_IDENTITY)
			throw new Fault("too_many_calls", {
				what: "links to this host",
				limit: before >= MAX_OF_IDENTITY ? MAX_OF_IDENTITY : MAX_LINKS,
			});
		const { host } = this.#connection.options;
		const from = upSubject(host, as, id);
		const link = new Link({
			side: "host",
			connection: this.#connection,
			to: downSubject(as, id),
			from,
			onClosed: () => {
				this.#links.delete(from);
				const left = (this.#perIdentity.get(identity) ?? 1) - 1;
				if (left === 0) this.#perIdentity.delete(identity);
				else this.#perIdentity.set(identity, left);
			},
			onHeld: (bytes) => this.#hold(bytes),
		});
		this.#links.set(from, link);
		this.#perIdentity.set(identity, before + 1);
		link.on("error", () => {}); // "close" follows; whoever serves it hears of that
		try {
			this.#parts.accept(link, as);
		} catch (error) {
			link.destroy();
			throw error;
		}
		return id;
	}

	#receive(subject: string, data: Uint8Array, status: number | undefined): void {
		const known = this.#links.get(subject);
		const meant = known === undefined ? linkIn(subject) : null;
		known?.receive(data, status);
		if (meant !== null) this.#refuse(downSubject(meant.as, meant.link), data, status);
	}

	/** A frame of a link that has ended here: the client waits for what will not come. */
	#refuse(subject: string, data: Uint8Array, status: number | undefined): void {
		const kind = decodeFrame(data)?.kind;
		if (status !== undefined || (kind !== "data" && kind !== "ping")) return;
		const payload = Buffer.from("the host does not know it any more");
		this.#connection.nats.publish(subject, encodeFrame({ kind: "reset", number: 0, took: 0, payload }));
	}

	#hold(bytes: number): void {
		this.#held += bytes;
		if (this.#held <= MAX_HELD_BYTES) return;
		let largest: Link | null = null;
		for (const link of this.#links.values()) if (largest === null || link.held > largest.held) largest = link;
		largest?.destroy(new Error("too much waits to be read"));
	}
}

/** The host that it says it is; null where it says nothing usable. */
function fromIn(data: Uint8Array): string | null {
	if (data.length > MAX_REQUEST_BYTES) return null;
	try {
		const { from } = JSON.parse(Buffer.from(data).toString("utf8")) as { readonly from?: unknown };
		return typeof from === "string" && isHostName(from) ? from : null;
	} catch {
		return null; // not a request of ours
	}
}
