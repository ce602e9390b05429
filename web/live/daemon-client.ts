// Requests to the daemon. The cookie of the page says who we are; a refusal is thrown with the daemon's own words.

import type { Timeline } from "../../src/protocol/timeline.ts";
import { type NumberedText, numberedText, type SearchResult, searchResult } from "./numbered-lines.ts";

export interface Me {
	readonly role: "admin" | "drive" | "view" | "approve";
	readonly name: string;
	readonly session: string | null;
	readonly version: string;
	readonly pid: number;
	readonly startedAt: number;
	readonly url: string;
}

export interface ScreenContent {
	readonly content: string;
	readonly cols: number;
	readonly rows: number;
	readonly offset: number;
}

export interface Moment extends ScreenContent {
	readonly at: number;
	readonly lines: readonly string[];
}

export const EXPORT_FORMATS = {
	cast: "Recording (asciicast)",
	text: "Text",
	svg: "Picture (SVG)",
	png: "Picture (PNG)",
} as const;
export type ExportFormat = keyof typeof EXPORT_FORMATS;

/** A page shows as much as it asks for, unlike a model. */
const MAX_TOKENS = 100_000;
const MATCHES = 200;

interface FaultWords {
	readonly message: string;
	readonly next?: string;
}

export class Refused extends Error {
	readonly status: number;
	/** What happened, without the next step. */
	readonly reason: string;

	constructor(status: number, { message, next }: FaultWords) {
		super([message, next].filter(Boolean).join(" "));
		this.status = status;
		this.reason = message;
	}
}

const path = (id: string, rest: string) => `/v1/sessions/${encodeURIComponent(id)}${rest}`;

async function request<T>(method: string, url: string, body?: object, signal?: AbortSignal): Promise<T> {
	const response = await fetch(url, {
		method,
		...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
		...(signal !== undefined && { signal }),
	});
	const text = await response.text();
	if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
	throw new Refused(response.status, faultWords(text) ?? { message: `The daemon answered ${response.status}.` });
}

/** Message and next step of a fault, whichever way it is wrapped. */
export function faultWords(text: string): FaultWords | null {
	try {
		const json = JSON.parse(text) as Record<string, unknown>;
		const { message, next } = (json.error ?? json) as { message?: unknown; next?: unknown };
		return typeof message === "string" ? { message, ...(typeof next === "string" && { next }) } : null;
	} catch {
		return null; // a page, not JSON
	}
}

const tool = <T>(name: string, input: object, signal?: AbortSignal) =>
	request<T>("POST", `/v1/tools/${name}`, input, signal);

export const daemon = {
	me: () => request<Me>("GET", "/v1/me"),
	/** To look at: without the lines above the screen. */
	snapshot: (id: string, signal: AbortSignal) =>
		request<ScreenContent>("GET", path(id, "/snapshot?scrollback=0"), undefined, signal),
	timeline: (id: string, signal: AbortSignal) => request<Timeline>("GET", path(id, "/timeline"), undefined, signal),
	moment: (id: string, atMs: number, signal: AbortSignal) =>
		request<Moment>("GET", path(id, `/moment?at=${Math.round(atMs)}`), undefined, signal),
	async lines(id: string, from: number, to: number, signal: AbortSignal): Promise<NumberedText> {
		return numberedText(await tool("read", { session: id, view: "lines", from, to, maxTokens: MAX_TOKENS }, signal));
	},
	async search(id: string, text: string, signal: AbortSignal): Promise<SearchResult> {
		const input = { session: id, search: text, lines: MATCHES, maxTokens: MAX_TOKENS };
		return searchResult(await tool("read", input, signal));
	},
	start: (input: { command?: string; name?: string; cwd?: string; host?: string }) =>
		// Answers at once: the page shows the program itself.
		tool<{ session: string }>("start", { ...input, timeoutMs: 0, maxTokens: 50 }),
	signal: (id: string, signal: string) => tool("signal", { session: id, signal, timeoutMs: 0, maxTokens: 50 }),
	resize: (id: string, cols: number, rows: number) => tool("resize", { session: id, cols, rows, maxTokens: 50 }),
	close: (id: string, force: boolean) => tool("close", { session: id, force, maxTokens: 50 }),
	restart: (id: string) => request<{ session: string }>("POST", path(id, "/restart"), {}),
	rename: (id: string, name: string) =>
		request<{ session: string; name: string }>("POST", path(id, "/rename"), { name }),
	remove: (id: string) => request("DELETE", path(id, "")),
	decide: (id: string, approve: boolean, note: string) =>
		request("POST", `/v1/approvals/${encodeURIComponent(id)}`, { approve, ...(note !== "" && { note }) }),
	share: (id: string, minutes: number) =>
		request<{ url: string; expiresAt: number }>("POST", path(id, "/share"), { minutes }),
	exportUrl: (id: string, format: ExportFormat, atMs: number | null) =>
		path(id, `/export?format=${format}${atMs === null ? "" : `&at=${Math.round(atMs)}`}`),
};
