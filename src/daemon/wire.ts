// The messages on the daemon's socket: one JSON object per line, each response with the
// id of its request. Both ends have the same version, so the messages mirror the
// Client interface and nothing more.

//
// Streams have flow control of their own: the daemon sends each at most `limits.streamBytes` ahead of what its reader
// has taken, so a slow reader never fills the socket that it shares with other requests.

import type { Socket } from "node:net";
import { guarded } from "../protocol/boundary.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import type { FaultJson } from "../protocol/fault.ts";
import { hasAtMostValues } from "../protocol/json-size.ts";
import { limits } from "../session/options.ts";
import type { Answer, DaemonStatus, ScreenSnapshot, ToolCard, ToolSet } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";

export type Question =
	| { readonly do: "hello"; readonly version: string }
	| {
			readonly do: "call";
			readonly tool: string;
			readonly input: unknown;
			readonly caller: Caller;
			readonly answerWithinMs?: number;
	  }
	| { readonly do: "tools"; readonly sets: readonly ToolSet[] }
	| { readonly do: "events"; readonly afterSeq?: number }
	| { readonly do: "output"; readonly session: string; readonly from: number }
	| { readonly do: "type"; readonly session: string; readonly base64: string; readonly write?: string }
	| { readonly do: "snapshot"; readonly session: string }
	| { readonly do: "status" }
	| HttpQuestion
	| {
			readonly do: "stop";
			readonly sessions: boolean;
			/** Another daemon follows at once. */
			readonly replace?: boolean;
	  };

/** Opens HTTP, or joins where it is open. */
export interface HttpQuestion {
	readonly do: "http";
	/** 0 takes a free one. */
	readonly port: number;
	/** Refuse where it is open on another port. */
	readonly exact: boolean;
	/** `hold`: as long as this request runs. `pin`: as long as the daemon runs. `await`: until one that holds it is back. */
	readonly keep: "hold" | "pin" | "await";
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

export type More =
	| { readonly event: SessionEvent | EventsDropped }
	| { readonly http: { readonly url: string } }
	| { readonly offset: number; readonly base64: string }
	| { readonly gap: { readonly from: number; readonly to: number } };

export type Done = {
	hello?: { version: string; pid: number };
	answer?: Answer;
	/** Names of sessions that could not be ended. */
	left?: readonly string[];
	/** Where HTTP is open; in the answer to `stop`: where it was. */
	http?: { readonly url: string; readonly pinned: boolean } | null;
	/** Why a request that lasts was ended by the daemon. */
	stopping?: "stopped" | "replaced";
	tools?: readonly ToolCard[];
	snapshot?: ScreenSnapshot;
	status?: DaemonStatus;
};

/** Pieces of a message below this are merged: a million of one byte would weigh a hundred times as much. */
const PIECE_BYTES = 64 * 1024;

/**
 * Calls back with the value of each line and its bytes; `onBad` with the reason when the other end breaks the protocol.
 * `onHeld` gets how much of an incomplete line is held after each chunk.
 */
export function readLines(
	socket: Socket,
	onLine: (value: unknown, bytes: number) => void,
	onBad: (problem: string) => void,
	onHeld: (bytes: number) => void = () => {},
): void {
	let held: Buffer[] = [];
	let heldBytes = 0;
	const read = (chunk: Buffer) => {
		let rest = chunk;
		for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
			const line = held.length > 0 ? Buffer.concat([...held, rest.subarray(0, end)]) : rest.subarray(0, end);
			held = [];
			heldBytes = 0;
			rest = rest.subarray(end + 1);
			let value: unknown;
			try {
				if (line.length > limits.frameBytes || !hasAtMostValues(line, limits.frameValues))
					return onBad("a line that is too large");
				value = JSON.parse(line.toString("utf8"));
			} catch {
				return onBad("a line that is not JSON");
			}
			onLine(value, line.length + 1);
			if (socket.destroyed) return;
		}
		if (rest.length > 0) hold(rest);
		if (heldBytes > limits.frameBytes) onBad(`a line of more than ${limits.frameBytes} bytes`);
		else onHeld(heldBytes);
	};
	const hold = (piece: Buffer) => {
		heldBytes += piece.length;
		let last = piece;
		for (let before = held.at(-1); before !== undefined; before = held.at(-1)) {
			if (before.length > Math.min(last.length, PIECE_BYTES)) break;
			last = Buffer.concat([before, last]);
			held.pop();
		}
		held.push(last);
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
