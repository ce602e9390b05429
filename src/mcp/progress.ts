// Progress while a call waits, for clients that requested it.

import type { ServerContext } from "@modelcontextprotocol/server";

// Clients time out after 30 to 60 s without progress; 5 s also survives a busy machine.
const EVERY_MS = 5_000;

export function reportProgress(ctx: ServerContext, everyMs = EVERY_MS): Disposable {
	const progressToken = ctx.mcpReq._meta?.progressToken;
	if (progressToken === undefined) return { [Symbol.dispose]: () => {} };
	const started = performance.now();
	const timer = setInterval(() => {
		const seconds = (performance.now() - started) / 1000;
		ctx.mcpReq
			.notify({
				method: "notifications/progress",
				params: { progressToken, progress: seconds, message: `waiting for ${Math.round(seconds)} s` },
			})
			.catch(() => clearInterval(timer)); // the client is gone: its signal ends the call
	}, everyMs);
	return { [Symbol.dispose]: () => clearInterval(timer) };
}
