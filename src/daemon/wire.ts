// The messages on the daemon's socket: one JSON object per line, each response with the
// id of its request. Both ends have the same version, so the messages mirror the
// Client interface and nothing more.

//
// Streams have flow control of their own: the daemon sends each at most `limits.streamBytes` ahead of what its reader
// has taken, so a slow reader never fills the socket that it shares with other requests.

import type { Duplex } from "node:stream";
import type { ExitFacts, Status } from "../protocol/answer.ts";
import type { Approval, Decision } from "../protocol/approval.ts";
import { guarded } from "../protocol/boundary.ts";
import type { DriverView, PersonAct, PersonDone } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import type { FaultJson } from "../protocol/fault.ts";
import type { FleetStatus, FleetWish } from "../protocol/fleet.ts";
import { hasAtMostValues } from "../protocol/json-size.ts";
import type { ListChange } from "../protocol/session-list.ts";
import { limits } from "../session/options.ts";
import type { Scope } from "../session/scope.ts";
import type {
	Answer,
	DaemonStatus,
	DrawnOptions,
	ScreenSnapshot,
	SnapshotOptions,
	ToolCard,
	ToolSet,
} from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";

export type Question =
	| { readonly do: "hello"; readonly version: string }
	| {
			readonly do: "call";
			readonly tool: string;
			readonly input: unknown;
			readonly caller: Caller;
			readonly answerWithinMs?: number;
			readonly sets?: readonly ToolSet[];
	  }
	| { readonly do: "tools"; readonly sets: readonly ToolSet[] }
	| { readonly do: "events"; readonly afterSeq?: number }
	| { readonly do: "output"; readonly session: string; readonly from: number }
	| { readonly do: "view"; readonly session: string }
	| {
			readonly do: "drawn";
			readonly session: string;
			readonly as: DrawnOptions["as"];
			readonly at?: number;
			readonly offset?: number;
	  }
	| { readonly do: "act"; readonly session: string; readonly act: PersonAct }
	| { readonly do: "drivers"; readonly session: string; readonly lease?: string }
	| ({ readonly do: "snapshot"; readonly session: string } & SnapshotOptions)
	| {
			readonly do: "people";
			readonly decides: boolean;
			/** Set by who admits the question. */
			readonly scope?: Scope;
	  }
	| { readonly do: "approvals" }
	| { readonly do: "decide"; readonly approval: string; readonly decision: Decision }
	| { readonly do: "status" }
	| HttpQuestion
	| { readonly do: "fleet"; readonly act: "status" | "leave" }
	| { readonly do: "fleet"; readonly act: "join"; readonly wish: FleetWish }
	| {
			readonly do: "stop";
			readonly sessions: boolean;
			/** Another daemon follows at once. */
			readonly replace?: boolean;
	  };

/** Where HTTP is opened for other machines: an address, its names, and the paths of certificate and key. */
export interface TlsPlace {
	readonly host: string;
	readonly names: readonly string[];
	readonly cert: string;
	readonly key: string;
}

/** The port in an address, also where it is the usual one. */
export function portOf(url: string): number {
	const { port, protocol } = new URL(url);
	return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** Opens HTTP, or joins where it is open. */
export interface HttpQuestion {
	readonly do: "http";
	/** 0 takes a free one. */
	readonly port: number;
	/** Refuse where it is open on another port. */
	readonly exact: boolean;
	/** `hold`: as long as this request runs. `pin`: as long as the daemon runs. `await`: until one that holds it is back. */
	readonly keep: "hold" | "pin" | "await";
	/** Beyond loopback; without it, on loopback. */
	readonly tls?: TlsPlace;
	/** Its directory and environment are those of sessions that are started over HTTP. */
	readonly caller: Caller;
}

/** What a client sends: a request, its cancellation, or how many more bytes of its stream were taken. */
export type Request =
	| (Question & { readonly id: number })
	| { readonly id: number; readonly do: "cancel" }
	| { readonly id: number; readonly do: "took"; readonly bytes: number };

/** What the daemon sends. `more` may come many times; the others end their request. */
export type Response =
	| { readonly id: number; readonly more: More }
	| { readonly id: number; readonly done: Done }
	| { readonly id: number; readonly fault: FaultJson };

/** Its envelope: which request it is for, and what kind of answer. What is inside is of the daemon's own version (hello). */
export function isResponse(value: unknown): value is Response {
	if (typeof value !== "object" || value === null || !("id" in value) || typeof value.id !== "number") return false;
	return Object.entries(value).some(
		([kind, part]) => ["more", "done", "fault"].includes(kind) && typeof part === "object" && part !== null,
	);
}

export type More =
	| { readonly event: SessionEvent | EventsDropped }
	| { readonly driver: DriverView }
	/** `isPart`: more rows of the same follow. */
	| { readonly people: ListChange; readonly isPart?: true }
	| { readonly http: { readonly url: string } }
	| { readonly snapshot: ScreenSnapshot }
	| { readonly ended: { readonly exit: ExitFacts | null; readonly status: Status } }
	| { readonly resized: { readonly cols: number; readonly rows: number }; readonly offset: number }
	| { readonly offset: number; readonly base64: string }
	| { readonly drawn: string }
	| { readonly gap: { readonly from: number; readonly to: number } };

export type Done = {
	/** `refused`: what the caller would be told if it did what is left to the owner of the machine. */
	hello?: { version: string; pid: number; refused?: FaultJson };
	answer?: Answer;
	/** Names of sessions that could not be ended. */
	left?: readonly string[];
	/** Where HTTP is open; in the answer to `stop`: where it was. */
	http?: { readonly url: string; readonly pinned: boolean; readonly tls?: TlsPlace } | null;
	/** The fleet that it is a member of; null where it is of none. */
	fleet?: FleetStatus | null;
	/** Why a request that lasts was ended by the daemon. */
	stopping?: "stopped" | "replaced";
	tools?: readonly ToolCard[];
	person?: PersonDone;
	snapshot?: ScreenSnapshot;
	status?: DaemonStatus;
	/** All that wait, or the one that was decided. */
	approvals?: readonly Approval[];
};

/** Pieces of a message below this are merged: a million of one byte would weigh a hundred times as much. */
const PIECE_BYTES = 64 * 1024;

const EMPTY = Buffer.alloc(0);

/** The lines in what arrives, one at a time: what is not asked for is not parsed. */
export class Lines {
	/** What has arrived and was not read yet. */
	#arrived: Buffer = EMPTY;
	/** The pieces of a line whose end has not arrived. */
	#held: Buffer[] = [];
	#heldBytes = 0;

	/** How much of an incomplete line is held. */
	get heldBytes(): number {
		return this.#heldBytes;
	}

	/** All that has arrived was read. */
	get isEmpty(): boolean {
		return this.#arrived.length === 0;
	}

	/** More has arrived. */
	add(chunk: Buffer): void {
		this.#arrived = this.isEmpty ? chunk : Buffer.concat([this.#arrived, chunk]);
	}

	/** The next line that is complete, null where none is, or how the other end has broken the protocol. */
	next(): { readonly value: unknown; readonly bytes: number } | { readonly problem: string } | null {
		const end = this.#arrived.indexOf(10);
		const rest = this.#arrived.subarray(0, end === -1 ? undefined : end);
		this.#arrived = end === -1 ? EMPTY : this.#arrived.subarray(end + 1);
		if (end === -1) {
			if (rest.length > 0) this.#hold(rest);
			return this.#heldBytes > limits.frameBytes ? { problem: `a line of more than ${limits.frameBytes} bytes` } : null;
		}
		const line = this.#held.length > 0 ? Buffer.concat([...this.#held, rest]) : rest;
		this.#held = [];
		this.#heldBytes = 0;
		try {
			if (line.length > limits.frameBytes || !hasAtMostValues(line, limits.frameValues))
				return { problem: "a line that is too large" };
			return { value: JSON.parse(line.toString("utf8")), bytes: line.length + 1 };
		} catch {
			return { problem: "a line that is not JSON" };
		}
	}

	#hold(piece: Buffer): void {
		this.#heldBytes += piece.length;
		let last = piece;
		for (let before = this.#held.at(-1); before !== undefined; before = this.#held.at(-1)) {
			if (before.length > Math.min(last.length, PIECE_BYTES)) break;
			last = Buffer.concat([before, last]);
			this.#held.pop();
		}
		this.#held.push(last);
	}
}

/** Calls back with the value of each line and its bytes as they arrive; `onBad` with the reason when the other end breaks the protocol. */
export function readLines(
	socket: Duplex,
	onLine: (value: unknown, bytes: number) => void,
	onBad: (problem: string) => void,
): void {
	const lines = new Lines();
	const read = (chunk: Buffer) => {
		lines.add(chunk);
		for (let line = lines.next(); line !== null && !socket.destroyed; line = lines.next()) {
			if ("problem" in line) return onBad(line.problem);
			onLine(line.value, line.bytes);
		}
	};
	socket.on(
		"data",
		guarded("a line on the daemon's socket", read, ({ message }) => onBad(message)),
	);
}

/** One line, ready to be sent; null when it is too large to be. */
export function lineOf(value: Request | Response): Buffer | null {
	const line = Buffer.from(`${JSON.stringify(value)}\n`);
	return line.length > limits.frameBytes ? null : line;
}
