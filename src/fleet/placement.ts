// Where a program is started: which of the hosts fit, and which of them is the best. Pure.
//
// A host that was just chosen counts as fuller until its lease says so. Hosts that are about equally full are told
// apart by the key of the start, so that many who choose at the same moment do not all choose the same one.

import { z } from "zod";
import { Fault } from "../protocol/fault.ts";
import type { Placement } from "../tools/catalogue.ts";
import type { HostView } from "./view.ts";

export const placement = z.union([
	z.literal("least-loaded"),
	z.strictObject({ host: z.string().min(1).max(63) }),
	z.strictObject({ labels: z.record(z.string().min(1).max(64), z.string().max(256)) }),
	z.strictObject({ sameAs: z.string().min(1).max(264) }),
	// As it is on the command line.
	z.strictObject({ "same-as": z.string().min(1).max(264) }).transform((given) => ({ sameAs: given["same-as"] })),
]) satisfies z.ZodType<Placement>;

/** What is asked for once names are known: `sameAs` is the host of that session. */
export type Wanted = "least-loaded" | { readonly host: string } | { readonly labels: Readonly<Record<string, string>> };

/** Hosts whose shares differ by less than this are equally full. */
const STEP = 0.05;

export interface Candidates {
	readonly hosts: readonly HostView[];
	/** Starts on their way, by host. */
	readonly reserved?: ReadonlyMap<string, number>;
	/** Hosts that have refused this start, and why. */
	readonly refused?: ReadonlyMap<string, string>;
	/** Of the start: the same one gets the same order. */
	readonly key: string;
}

/** The host for it, or the fault that says of each why not. */
export function place(wanted: Wanted, { hosts, reserved, refused, key }: Candidates): string {
	const misfits: { host: string; why: string }[] = [];
	let best: { readonly host: string; readonly rank: readonly number[] } | null = null;
	for (const view of hosts) {
		const taken = reserved?.get(view.host) ?? 0;
		const against = refused?.get(view.host) ?? misfit(wanted, view, taken);
		if (against !== null) {
			misfits.push({ host: view.host, why: against });
			continue;
		}
		const { running, capacity, load } = view.lease!;
		const share = Math.floor((running + taken) / capacity.sessions / STEP);
		const rank = [share, Math.floor(load / STEP / 4), hashed(`${key} ${view.host}`)];
		if (best === null || isBefore(rank, best.rank)) best = { host: view.host, rank };
	}
	if (best !== null) return best.host;
	throw new Fault("no_host_fits", { wanted: described(wanted), misfits });
}

/** Why a host cannot take it; null where it can. */
function misfit(wanted: Wanted, { host, lease, reachable, since }: HostView, taken: number): string | null {
	if (wanted !== "least-loaded" && "host" in wanted && wanted.host !== host) return "not the one that was named";
	if (!reachable || lease === null)
		return `unreachable${since === null ? "" : ` since ${new Date(since).toISOString()}`}`;
	if (wanted !== "least-loaded" && "labels" in wanted) {
		for (const [name, value] of Object.entries(wanted.labels)) {
			if (!Object.hasOwn(lease.labels, name)) return `has no label ${name}`;
			if (lease.labels[name] !== value) return `${name} is ${lease.labels[name]}`;
		}
	}
	const { running, capacity } = lease;
	if (running + taken < capacity.sessions) return null;
	return `full (${running} of ${capacity.sessions} sessions run${taken === 0 ? "" : `, ${taken} are being started`})`;
}

const isBefore = (a: readonly number[], b: readonly number[]): boolean => {
	const at = a.findIndex((value, i) => value !== b[i]);
	return at >= 0 && a[at]! < b[at]!;
};

/** FNV-1a, mixed once more: neighbours in their text are none here. */
function hashed(text: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
	hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
	return (hash ^ (hash >>> 13)) >>> 0;
}

function described(wanted: Wanted): string {
	if (wanted === "least-loaded") return "a start on any host";
	if ("host" in wanted) return `a start on ${wanted.host}`;
	const labels = Object.entries(wanted.labels).map(([name, value]) => `${name}=${value}`);
	return `a start with ${labels.length === 0 ? "no labels" : labels.join(", ")}`;
}
