// How long hosts let a call take. Codex ends a call after 300 s regardless of progress,
// others after 60 s without any: so a wait is at most 280 s, and at most 60 s
// unless more was requested. The answer then says "still working" with the offset.

import type { ToolCard } from "../tools/client.ts";

const MAX_WAIT_MS = 280_000;
const DEFAULT_WAIT_MS = 60_000;

/** The fields that set how long a tool waits. Ending a wait ends nothing else, so shortening one is safe. */
const WAITS = ["timeoutMs", "yield_time_ms"] as const;

type Schema = { readonly properties?: Readonly<Record<string, { readonly default?: unknown } | undefined>> };

export function withinHostLimits(card: ToolCard, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
	const limited = { ...input };
	for (const field of WAITS) {
		const property = (card.inputSchema as Schema).properties?.[field];
		if (property === undefined) continue;
		const asked = limited[field];
		if (typeof asked === "number") limited[field] = Math.min(asked, MAX_WAIT_MS);
		else if (asked === undefined && Number(property.default ?? Number.POSITIVE_INFINITY) > DEFAULT_WAIT_MS)
			limited[field] = DEFAULT_WAIT_MS;
	}
	return limited;
}
