// Every address there is beside those of people-routes.ts, and what it needs. The app and the listener serve
// what is in this table and nothing else.

import type { Needs } from "./roles.ts";

export const ROUTES = {
	// Open to every process on this machine: whether the server is up, a constant, a link that is its own proof.
	"GET /healthz": "nothing",
	"GET /reload.js": "nothing",
	"GET /login": "nothing",
	"GET /": "reads",
	"GET /assets/:name": "reads",
	"GET /v1/me": "reads",
	"GET /v1/tools": "reads",
	"GET /v1/openapi.json": "reads",
	"POST /v1/tools/:name": "tool",
	"GET /v1/sessions": "reads",
	"GET /v1/sessions/:id": "reads",
	"GET /v1/sessions/:id/snapshot": "reads",
	"GET /v1/sessions/:id/output": "reads",
	"GET /v1/sessions/:id/timeline": "reads",
	"GET /v1/sessions/:id/moment": "reads",
	"GET /v1/sessions/:id/export": "reads",
	"GET /v1/events": "reads",
	"GET /v1/watch": "reads",
	// Its tools are those that the role may call.
	"ALL /mcp": "reads",
	"UPGRADE /v1/events": "reads",
	"UPGRADE /v1/sessions/:id/output": "reads",
	// To watch; each message that acts needs more (terminal-socket.ts).
	"UPGRADE /v1/sessions/:id/terminal": "reads",
} as const satisfies Readonly<Record<string, Needs>>;

/** The fields of `list` that "GET /v1/sessions" takes, as far as the tool has them. */
export const LIST_QUERY = ["status", "limit", "after"] as const;

export type RouteName = keyof typeof ROUTES;
export type UpgradeName = Extract<RouteName, `UPGRADE ${string}`>;
export type RequestName = Exclude<RouteName, UpgradeName>;

/** Served without a token. */
export const OPEN_PATHS: ReadonlySet<string> = new Set(
	Object.entries(ROUTES)
		.filter(([, needs]) => needs === "nothing")
		.map(([name]) => name.split(" ")[1]!),
);

export interface Upgrade {
	readonly name: UpgradeName;
	/** A name or an id; empty where the address names none. */
	readonly session: string;
}

/** What a WebSocket is asked for; null where there is no such stream. */
export function upgradeOf({ pathname }: URL): Upgrade | null {
	for (const name of Object.keys(ROUTES) as RouteName[]) {
		if (!isUpgrade(name)) continue;
		// Names may contain characters that an address must escape; what does not decode is no session.
		const pattern = name.split(" ")[1]!.replace(":id", "((?:[^/%]|%[0-7][0-9a-f])+)");
		const match = new RegExp(`^${pattern}$`, "i").exec(pathname);
		if (match !== null) return { name, session: decodeURIComponent(match[1] ?? "") };
	}
	return null;
}

const isUpgrade = (name: RouteName): name is UpgradeName => name.startsWith("UPGRADE ");
