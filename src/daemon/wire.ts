// The messages on the daemon's socket: one JSON object per line, each response with the
// id of its request. Both ends have the same version, so the messages mirror the
// Client interface and nothing more.

import type { Socket } from "node:net";
import { guarded } from "../protocol/boundary.ts";
import type { SessionEvent } from "../protocol/events.ts";
import type { FaultJson } from "../protocol/fault.ts";
import type { Answer, DaemonStatus, ScreenSnapshot, ToolCard, ToolSet } from "../tools/client.ts";
import type { Caller } from "../tools/tool.ts";

export type Question =
	| { readonly do: "hello"; readonly version: string }
	| { readonly do: "call"; readonly tool: string; readonly input: unknown; readonly caller: Caller }
	| { readonly do: "tools"; readonly sets: readonly ToolSet[] }
	| { readonly do: "events"; readonly afterSeq?: number }
	| { readonly do: "output"; readonly session: string; readonly from: number }
	| { readonly do: "type"; readonly session: string; readonly base64: string }
	| { readonly do: "snapshot"; readonly session: string }
	| { readonly do: "status" }
	| { readonly do: "stop"; readonly sessions: boolean };

/** What a client sends: a request, or its cancellation. */
export type Request = (Question & { readonly id: number }) | { readonly id: number; readonly do: "cancel" };

/** What the daemon sends. `more` may come many times; the others end their request. */
export type Response =
	| { readonly id: number; readonly more: More }
	| { readonly id: number; readonly done: Done }
	| { readonly id: number; readonly fault: FaultJson };

export type More =
	| { readonly event: SessionEvent }
	| { readonly offset: number; readonly base64: string }
	| { readonly gap: { readonly from: number; readonly to: number } };

export type Done = {
	hello?: { version: string; pid: number };
	answer?: Answer;
	/** Names of sessions that could not be ended. */
	left?: readonly string[];
	tools?: readonly ToolCard[];
	snapshot?: ScreenSnapshot;
	status?: DaemonStatus;
};

// A line holds at most one tool's input or answer: 1 MB of text, escaped.
const MAX_LINE_BYTES = 16 << 20;

/** Calls back with the value of each line; `onBad` with the reason when the other end does not follow the protocol. */
export function readLines(socket: Socket, onLine: (value: unknown) => void, onBad: (problem: string) => void): void {
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
				value = JSON.parse(line.toString("utf8"));
			} catch {
				return onBad("a line that is not JSON");
			}
			onLine(value);
			if (socket.destroyed) return;
		}
		if (rest.length === 0) return;
		held.push(rest);
		heldBytes += rest.length;
		if (heldBytes > MAX_LINE_BYTES) onBad(`a line of more than ${MAX_LINE_BYTES} bytes`);
	};
	socket.on(
		"data",
		guarded("a line on the daemon's socket", read, ({ message }) => onBad(message)),
	);
}

/** Writes one line; false when the other end is slow and the caller should wait for `drain`. */
export function writeLine(socket: Socket, value: Request | Response): boolean {
	return socket.writable ? socket.write(`${JSON.stringify(value)}\n`) : true;
}
