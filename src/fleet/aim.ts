// Which host a call is for: by `host` or `placement` in its input, or by a reference `host/name` in one of the fields that
// name a session. Whatever names no host that is known is for this one.

import { Fault } from "../protocol/fault.ts";
import { findTool, type Placement } from "../tools/catalogue.ts";
import type { ToolSet } from "../tools/client.ts";
import { hostOfNumber, isNumberElsewhere } from "../tools/host-names.ts";
import { meantField } from "../tools/other-names.ts";
import { placement } from "./placement.ts";
import { splitReference } from "./session-names.ts";

export interface Aim {
	/** Null: where nothing is said. */
	readonly host: string | null;
	/** Where it is to be started, if that is to be chosen. */
	readonly placement: Placement | null;
	/** As that host takes it. */
	readonly input: unknown;
}

/** Fields that name the session that a tool is for, of all sets. */
export const SESSION_FIELDS = ["session", "session_id", "terminal_id", "process_id"] as const;
const REFERENCES: ReadonlySet<string> = new Set([...SESSION_FIELDS, "again"]);
/** What one that is started, or used as a shell, is to be called. */
const NEW_NAMES: Readonly<Record<string, string>> = { start: "name", pty_create: "name", run: "shell" };
const PLACED: ReadonlySet<string> = new Set(["start", "run"]);

export interface KnownHosts {
	isKnown(host: string): boolean;
	names(): Iterable<string>;
}

export interface AimedCall {
	readonly tool: string;
	readonly input: unknown;
	readonly sets?: readonly ToolSet[] | undefined;
}

interface Fields {
	readonly named: unknown;
	readonly placed: unknown;
	readonly others: readonly {
		readonly name: string;
		readonly value: unknown;
		readonly isReference: boolean;
		/** It is what one that is started, or used as a shell, is to be called. */
		readonly isNewName: boolean;
	}[];
}

export function aimOf(call: AimedCall, known: KnownHosts): Aim {
	const { tool, input } = call;
	const fields = fieldsOf(call);
	if (fields === null) return { host: null, placement: null, input };
	const { named, placed, others: rest } = fields;
	const aimed: Record<string, unknown> = {};
	const hosts = new Set<string>();
	if (named !== null) hosts.add(hostIn(named, known));
	for (const { name, value, isReference } of rest) {
		const reference = isReference ? referenceIn(value, known) : null;
		if (reference !== null) hosts.add(reference.host);
		Object.defineProperty(aimed, name, { value: reference?.session ?? value, enumerable: true });
	}
	const [host = null, ...others] = hosts;
	if (others.length > 0) throw badInput(`it names several hosts (${[...hosts].join(", ")})`);
	// In a tool that has the fields itself, or none to place, they are what that tool makes of them.
	if (placed === null || !PLACED.has(tool))
		return { host, placement: null, input: placed === null ? aimed : { ...aimed, placement: placed } };
	const wanted = placementIn(placed);
	if (host !== null) throw badInput("give `host` or `placement`, not both");
	return { host: null, placement: wanted, input: aimed };
}

/** Whether a call may be for another host, whichever there are. */
export function mayAimElsewhere(call: AimedCall): boolean {
	const fields = fieldsOf(call);
	if (fields === null) return false;
	const { named, placed, others } = fields;
	return named !== null || placed !== null || others.some((one) => one.isReference && mayBeElsewhere(one.value));
}

/** Whether this may name a session of another host, whichever there are. */
export function mayBeElsewhere(reference: unknown): boolean {
	if (typeof reference !== "string") return typeof reference === "number" && isNumberElsewhere(reference);
	return isNumberElsewhere(Number(reference)) || splitReference(reference, () => true) !== null;
}

/** The host in what something is to be called there, whichever there are: no name on this one has a `/`. Null: none. */
export function hostOfNewName(call: AimedCall): string | null {
	const named = fieldsOf(call)?.others.find(({ isNewName }) => isNewName)?.value;
	return typeof named === "string" ? (splitReference(named, () => true)?.host ?? null) : null;
}

/** Null: the tool refuses it. */
function fieldsOf({ tool, input, sets }: AimedCall): Fields | null {
	const fields = fieldsIn(input);
	const found = findTool(tool, input, sets);
	if (fields === null || found === undefined) return null;
	const shape = Object.keys(found.input.shape);
	const { host: named = null, placement: placed = null, ...rest } = fields;
	const others = Object.entries(rest).map(([name, value]) => {
		const field = shape.includes(name) ? name : (meantField(name, shape)?.field ?? name);
		const isNewName = NEW_NAMES[tool] === field;
		return { name, value, isReference: REFERENCES.has(field) || isNewName, isNewName };
	});
	return { named, placed, others };
}

const badInput = (problem: string) => new Fault("bad_input", { problems: [problem] });

/** Also as JSON, which some callers send. */
function fieldsIn(input: unknown): Record<string, unknown> | null {
	if (typeof input === "object" && input !== null && !Array.isArray(input)) return input as Record<string, unknown>;
	if (typeof input !== "string" || input.length > 20_000 || !/^\s*\{/.test(input)) return null;
	try {
		return fieldsIn(JSON.parse(input));
	} catch {
		return null; // the tool refuses it
	}
}

function hostIn(value: unknown, known: KnownHosts): string {
	if (typeof value !== "string" || value.trim() === "") throw badInput("`host` is the name of a host of the fleet");
	const host = value.trim().toLowerCase();
	if (known.isKnown(host)) return host;
	throw new Fault("unknown_host", { host: value, hosts: [...known.names()] });
}

function referenceIn(value: unknown, known: KnownHosts): { host: string; session: string | number } | null {
	if (typeof value === "string") {
		const reference = splitReference(value, (host) => known.isKnown(host));
		if (reference !== null || !/^\d{8,}$/.test(value)) return reference;
	}
	const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
	const found = hostOfNumber(number, known.names());
	return found && { host: found.host, session: found.number };
}

const PLACEMENT_FORM = '"least-loaded", {"host": …}, {"labels": {…}} or {"sameAs": session}';

function placementIn(value: unknown): Placement {
	const given = typeof value === "string" ? (fieldsIn(value) ?? value) : value;
	const parsed = placement.safeParse(given);
	if (parsed.success) return parsed.data;
	throw badInput(`\`placement\` is ${PLACEMENT_FORM}`);
}
