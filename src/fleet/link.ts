// A link: a reliable stream of bytes in both directions between a client and a host, over two subjects of the fleet.
//
// It behaves like a socket: what is written arrives in order or the link ends with an error. A missing number, a peer
// that breaks the rules or does not answer, and the loss of the connection end it. It never resumes: whoever used it opens
// another and repeats what is safe.

import { randomBytes } from "node:crypto";
import { Duplex } from "node:stream";
import { guarded } from "../protocol/boundary.ts";
import { Fault, type FaultJson, isFault } from "../protocol/fault.ts";
import { holdPiece } from "../pty/held-pieces.ts";
import type { FleetConnection } from "./connection.ts";
import { decodeFrame, encodeFrame, type Frame, HEADER_BYTES, type Kind, MAX_REASON_BYTES } from "./frames.ts";
import type { FleetIdentity } from "./identity.ts";
import { downSubject, isHostName, isLinkId, openSubject, upSubject } from "./subjects.ts";

/** Sent beyond what the peer has taken, in each direction. */
export const WINDOW_BYTES = 1 << 20;
/** Told to the peer in portions, so that it never waits for a reader that keeps up. */
const TOLD_BYTES = WINDOW_BYTES / 4;
/** Of one frame. Larger ones were no faster. */
const PIECE_BYTES = 64 * 1024;
/** Less room than this is not used for a part of a larger write. */
const LEAST_BYTES = 16 * 1024;

const OPEN_MS = 3000;
/** Silence after which a peer is pinged that owes us something, and how long it has to answer. */
const QUIET_MS = 2000;
const ANSWER_MS = 5000;
/** Silence after which a host pings a client that owes nothing; a client waits for two of these. */
const IDLE_MS = 30_000;
/** A timer that fires so late belongs to a process that did not run: its peer may have answered long ago. */
const LATE_MS = 500;

/** Why a link has ended. */
class LinkError extends Error {
	/** The peer was connected and did not answer. */
	readonly silent: boolean;

	constructor(message: string, { silent = false }: { readonly silent?: boolean } = {}) {
		super(message);
		this.name = "LinkError";
		this.silent = silent;
	}
}

export interface LinkParts {
	/** Only one of the ends looks after idle links. */
	readonly side: "client" | "host";
	readonly connection: FleetConnection;
	/** Where this end's frames go, and where those of the other come in. */
	readonly to: string;
	readonly from: string;
	/** Stops what calls `receive`. */
	readonly onClosed: () => void;
	/** How many bytes more, or fewer, wait for their reader. */
	readonly onHeld?: (bytes: number) => void;
}

export class Link extends Duplex {
	readonly #parts: LinkParts;
	readonly #piece: number;
	/** Numbers of the last frames. */
	#sent = 0;
	#received = 0;
	/** Bytes of the stream: written by us and taken by the peer; received, taken by our reader, and what of that was told. */
	#sentBytes = 0;
	#peerTook = 0;
	#receivedBytes = 0;
	#tookTold = 0;
	/** What arrived while the reader was busy. */
	#held: Buffer[] = [];
	#heldBytes = 0;
	#counted = 0;
	/** The reader has asked for more than it got. */
	#wanted = false;
	/** What is being written, and what to call when all of it was sent. */
	#writing: { bytes: Buffer; done: () => void } | null = null;
	/** The peer has said that it will send no more, or that it is over. */
	#peerEnded = false;
	#peerGone = false;
	#awaited = false;
	#pongDue = false;
	#heardAt = performance.now();
	/** When the peer, which owed nothing before, was last asked for something. */
	#owedSince = 0;
	/** When the ping was sent that has not been answered. */
	#pingedAt: number | null = null;
	#timer: NodeJS.Timeout | null = null;
	#dueAt = Number.POSITIVE_INFINITY;
	readonly #unsubscribe: () => void;

	constructor(parts: LinkParts) {
		// The reader's buffer is ours, where small pieces are merged: a million of one byte would weigh a hundred times as much.
		super({ allowHalfOpen: false, readableHighWaterMark: 1 });
		this.#parts = parts;
		const most = parts.connection.nats.info?.max_payload ?? PIECE_BYTES;
		this.#piece = Math.max(1, Math.min(PIECE_BYTES, Math.floor(most / 2) - HEADER_BYTES));
		this.#unsubscribe = parts.connection.onChange((connected) => {
			if (!connected) this.destroy(new LinkError("the connection to the fleet was lost"));
		});
		this.#schedule();
	}

	/** Whether an answer is awaited: then the peer's loss is noticed within seconds. */
	get awaited(): boolean {
		return this.#awaited;
	}
	set awaited(is: boolean) {
		if (is && !this.#isOwed()) this.#owedSince = performance.now();
		this.#awaited = is;
		if (is) this.#schedule();
	}

	/** When anything came from the peer, of `performance.now()`. */
	get heardAt(): number {
		return this.#heardAt;
	}

	/** Bytes that wait for their reader. */
	get held(): number {
		return this.#heldBytes + this.readableLength;
	}

	/** A message on the link's subject. `status`: what the server said in its place. */
	receive(bytes: Uint8Array, status?: number): void {
		if (this.destroyed) return;
		const frame = status === 503 ? null : decodeFrame(bytes);
		if (frame === null) this.#fail(status === 503 ? "the other end is gone" : "a message that is no frame");
		// One that does not know the link knows no number of it.
		else if (frame.kind === "reset") this.#reset(frame.payload);
		else if (frame.number !== this.#received + 1) this.#fail("messages were lost");
		else if (frame.took < this.#peerTook || frame.took > this.#sentBytes) this.#fail("an impossible acknowledgement");
		else this.#take(frame);
	}

	#take({ kind, number, took, payload }: Frame): void {
		this.#received = number;
		this.#peerTook = took;
		this.#heardAt = performance.now();
		this.#pingedAt = null;
		if (kind === "data") this.#takeData(payload);
		if (kind === "ping") this.#answerPing();
		if (kind === "end") {
			this.#peerEnded = true;
			this.#give();
		}
		if (!this.destroyed) this.#pump();
	}

	#reset(reason: Buffer): void {
		this.#peerGone = true;
		this.#fail(reason.toString("utf8") || "the other end has closed it");
	}

	#takeData(payload: Buffer): void {
		this.#receivedBytes += payload.length;
		if (this.#peerEnded) this.#fail("bytes after the end");
		else if (this.#receivedBytes - this.#tookTold > WINDOW_BYTES) this.#fail("more bytes than there was room for");
		else {
			this.#hold(payload);
			this.#give();
		}
	}

	#hold(piece: Buffer): void {
		this.#heldBytes += piece.length;
		holdPiece(this.#held, piece, LEAST_BYTES);
	}

	/** Passes on what the reader wants. */
	#give(): void {
		while (this.#wanted && this.#held.length > 0) {
			const piece = this.#held.shift()!;
			this.#heldBytes -= piece.length;
			this.#wanted = this.push(piece);
		}
		if (this.destroyed) return;
		this.#count(this.held);
		if (this.#peerEnded && this.#held.length === 0) this.push(null);
		if (this.#taken() - this.#tookTold >= TOLD_BYTES) this.#send("took");
	}

	#count(held: number): void {
		const before = this.#counted;
		this.#counted = held;
		if (held !== before) this.#parts.onHeld?.(held - before);
	}

	#taken(): number {
		return this.#receivedBytes - this.held;
	}

	/** One answer for all that came in at once. */
	#answerPing(): void {
		if (this.#pongDue) return;
		this.#pongDue = true;
		queueMicrotask(() => {
			this.#pongDue = false;
			if (!this.destroyed) this.#send("pong");
		});
	}

	override _read(): void {
		this.#wanted = true;
		this.#give();
	}

	override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
		this.#writing = { bytes: chunk, done };
		this.#pump();
	}

	override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
		this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "buffer" as BufferEncoding, done);
	}

	/** Sends what there is room for. */
	#pump(): void {
		const writing = this.#writing;
		if (writing === null) return;
		while (writing.bytes.length > 0) {
			const room = WINDOW_BYTES - (this.#sentBytes - this.#peerTook);
			const size = Math.min(writing.bytes.length, this.#piece, room);
			if (size < Math.min(writing.bytes.length, LEAST_BYTES, this.#piece)) return; // until the peer has taken more
			if (!this.#isOwed()) this.#owedSince = performance.now();
			this.#sentBytes += size;
			this.#send("data", writing.bytes.subarray(0, size));
			if (this.destroyed) return;
			writing.bytes = writing.bytes.subarray(size);
		}
		this.#writing = null;
		this.#schedule();
		writing.done();
	}

	override _final(done: () => void): void {
		this.#send("end");
		done();
	}

	override _destroy(error: Error | null, done: (error: Error | null) => void): void {
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#unsubscribe();
		// After our end the peer still reads what it has, and ends by itself.
		const isToldAlready = error === null && this.writableFinished;
		if (!this.#peerGone && !isToldAlready)
			this.#send("reset", Buffer.from(error?.message ?? "").subarray(0, MAX_REASON_BYTES));
		this.#count(0);
		this.#held = [];
		this.#heldBytes = 0;
		this.#writing = null;
		this.#parts.onClosed();
		done(error);
	}

	#send(kind: Kind, payload: Buffer = NOTHING): void {
		const { connection, to, from } = this.#parts;
		if (!connection.isConnected) return; // its loss ends this link
		const took = this.#taken();
		this.#tookTold = took;
		// The server answers by itself where nobody listens any more.
		const reply = kind === "data" || kind === "ping" ? { reply: from } : {};
		connection.nats.publish(to, encodeFrame({ kind, number: ++this.#sent, took, payload }), reply);
	}

	#fail(why: string, silent = false): void {
		this.destroy(new LinkError(why, { silent }));
	}

	/** The peer has to acknowledge or answer something. */
	#isOwed(): boolean {
		return this.#awaited || this.#sentBytes > this.#peerTook;
	}

	/** When to look at the peer next. */
	#due(): number {
		if (this.#pingedAt !== null) return this.#pingedAt + ANSWER_MS;
		if (this.#isOwed()) return Math.max(this.#heardAt, this.#owedSince) + QUIET_MS;
		return this.#heardAt + (this.#parts.side === "host" ? IDLE_MS : 2 * IDLE_MS + ANSWER_MS);
	}

	#schedule(): void {
		if (this.destroyed) return;
		const due = Math.max(this.#due(), performance.now());
		// One that fires too early looks when it is due: this is called for every write.
		if (this.#timer !== null && this.#dueAt <= due) return;
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#dueAt = due;
		this.#timer = setTimeout(this.#look, due - performance.now());
	}

	readonly #look = guarded("the timer of a link", () => {
		const now = performance.now();
		const isLate = now - this.#dueAt > LATE_MS;
		this.#timer = null;
		if (this.#due() > now) return this.#schedule();
		if (this.#pingedAt !== null && !isLate) return this.#fail(`no answer for ${ANSWER_MS / 1000} s`, true);
		const isSilent = this.#parts.side === "client" && !this.#isOwed() && this.#pingedAt === null;
		if (isSilent && !isLate) return this.#fail("the host is silent", true);
		this.#pingedAt = now;
		this.#send("ping");
		this.#schedule();
	});
}

const NOTHING = Buffer.alloc(0);

/** What a host says to a request to open a link. */
export type Opened =
	| { readonly link: string; readonly epoch: number; readonly bootId: string; readonly version: string }
	| { readonly fault: FaultJson };

export const newLinkId = (): string => randomBytes(16).toString("hex");

/** Opens a link to a host. Rejects at once where the host or the fleet cannot be reached. */
export async function openLink(connection: FleetConnection, host: string, as: FleetIdentity): Promise<Link> {
	if (!isHostName(host)) throw new Fault("host_unreachable", { host, problem: "that is no host's name" });
	const { host: from } = connection.options;
	const answer = await connection
		.askHost(openSubject(host, as), JSON.stringify({ from }), OPEN_MS)
		.catch((error: unknown) => {
			if (!connection.isConnected || !isFault(error, "fleet_unreachable")) throw error;
			throw new Fault("host_unreachable", { host, problem: error.facts.problem }, { cause: error });
		});
	if (answer === null) throw new Fault("host_unreachable", { host, problem: "it is not connected" });
	const opened = openedIn(answer.data);
	if (opened === null) throw new Fault("host_unreachable", { host, problem: "its answer cannot be read" });
	if ("fault" in opened) throw Fault.from(opened.fault);
	const { link: id } = opened;
	const subject = downSubject(as, id);
	const subscription = connection.nats.subscribe(subject, {
		callback: guarded("a frame of a link", (error, { data, headers }) => {
			if (error === null) link.receive(data, headers?.code);
			else link.destroy(error);
		}),
	});
	const link: Link = new Link({
		side: "client",
		connection,
		to: upSubject(host, as, id),
		from: subject,
		onClosed: () => subscription.unsubscribe(),
	});
	return link;
}

function openedIn(bytes: Uint8Array): Opened | null {
	try {
		const value = JSON.parse(Buffer.from(bytes).toString("utf8")) as Record<string, unknown>;
		if (typeof value.fault === "object" && value.fault !== null) return { fault: value.fault as FaultJson };
		const { link, epoch, bootId, version } = value;
		if (!isLinkId(link)) return null;
		return { link, epoch: Number(epoch), bootId: String(bootId), version: String(version) };
	} catch {
		return null;
	}
}
