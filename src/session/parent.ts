// Which agent conversation a call belongs to, as reported by its host. Each row is what one
// host really sends or exports; without any, the parent is null.

/** A printable label of a sensible length; anything else is not an id that a host would send. */
export const PARENT_ID = {
	pattern: /^[\x21-\x7e]{1,200}$/,
	form: "1 to 200 printable ASCII characters without spaces",
};

/** Ours first: lets a person or a wrapper override the host's. */
const VARIABLES = [
	"DIALTONE_PARENT",
	// Claude Code, to its MCP servers and its shell.
	"CLAUDE_CODE_SESSION_ID",
	// Codex, to the shells it starts (not to MCP servers: those get it with each call, below).
	"CODEX_THREAD_ID",
] as const;

/** What MCP hosts put into `_meta` of a tools/call. */
const META: readonly ((meta: Readonly<Record<string, unknown>>) => unknown)[] = [
	(meta) => meta["dialtone/parent"],
	// Codex (openai/codex#15190): an object, or the same as JSON.
	(meta) => fieldOf(meta["x-codex-turn-metadata"], "thread_id") ?? fieldOf(meta["x-codex-turn-metadata"], "session_id"),
	// VS Code's Copilot chat.
	(meta) => meta["vscode.conversationId"],
];

/** By HTTP there is no convention yet: ours. */
export const PARENT_HEADER = "x-dialtone-parent";

/** From the environment of the caller's process. */
export function parentFromEnvironment(env: Readonly<Record<string, string | undefined>>): string | undefined {
	return firstOf(VARIABLES.map((name) => env[name]));
}

/** From the `_meta` of an MCP request. */
export function parentFromMeta(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
	return meta === undefined ? undefined : firstOf(META.map((row) => row(meta)));
}

/** From the header of an HTTP request. */
export function parentFromHeader(value: string | null | undefined): string | undefined {
	return firstOf([value]);
}

function firstOf(candidates: readonly unknown[]): string | undefined {
	return candidates.find((value): value is string => typeof value === "string" && PARENT_ID.pattern.test(value));
}

function fieldOf(value: unknown, field: string): unknown {
	if (typeof value === "string") {
		try {
			return fieldOf(JSON.parse(value), field);
		} catch {
			return undefined; // invalid JSON
		}
	}
	return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[field] : undefined;
}
