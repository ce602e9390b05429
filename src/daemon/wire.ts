// The messages on the daemon's socket, each response with the id of its request; messages.ts has how they are written.
// Both ends have the same version, so the messages mirror the Client interface and nothing more.
//
// Streams have flow control of their own: the daemon sends each at most `limits.streamBytes` ahead of what its reader
// has taken, so a slow reader never fills the socket that it shares with other requests.

import type { ExitFacts, Status } from "../protocol/answer.ts";
import type { Approval, Decision } from "../protocol/approval.ts";
import type { DriverView, PersonAct, PersonDone } from "../protocol/driver.ts";
import type { EventsDropped, SessionEvent } from "../protocol/events.ts";
import type { FaultJson } from "../protocol/fault.ts";
import type { FleetStatus, FleetWish } from "../protocol/fleet.ts";
import type { ListChange } from "../protocol/session-list.ts";
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
	| {
			readonly do: "act";
			readonly session: string;
			readonly act: PersonAct;
			/** Of what is started again. */
			readonly caller: Caller;
	  }
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
	| { readonly do: "fleet"; readonly act: "forget"; readonly host: string }
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
	| MoreBytes
	| { readonly gap: { readonly from: number; readonly to: number } };

/** A piece of a stream of bytes, which is sent as it is. */
export interface MoreBytes {
	readonly offset: number;
	readonly bytes: Uint8Array;
}

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
	/** How many sessions of a host were removed. */
	forgotten?: number;
	/** Why a request that lasts was ended by the daemon. */
	stopping?: "stopped" | "replaced";
	tools?: readonly ToolCard[];
	person?: PersonDone;
	snapshot?: ScreenSnapshot;
	status?: DaemonStatus;
	/** All that wait, or the one that was decided. */
	approvals?: readonly Approval[];
};
