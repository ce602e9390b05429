// A stream of events whose reader may be slow or gone: the SDK writes notifications without
// asking whether anyone reads them, so what waits is counted here and a reader that falls behind is disconnected.

import { reportError } from "../protocol/listeners.ts";

/** The same response; a stream of events ends when more than this many bytes wait for its reader. */
export function boundedStream(response: Response, maxBytes: number): Response {
	const { body, headers, status } = response;
	if (body === null || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
	const source = body.getReader();
	const pump = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
		for (;;) {
			const { done, value } = await source.read();
			if (done) return controller.close();
			// What was waiting before counts, not this one: a single large answer is delivered.
			if ((controller.desiredSize ?? 0) <= 0) {
				controller.error(new Error("the reader of an MCP stream fell behind"));
				return source.cancel();
			}
			controller.enqueue(value);
		}
	};
	let cancelled = false;
	const bounded = new ReadableStream<Uint8Array>(
		{
			start: (controller) => {
				pump(controller).catch((error: unknown) => {
					if (!cancelled) reportError(error, "mcp stream");
				});
			},
			cancel: (reason) => {
				cancelled = true;
				return source.cancel(reason);
			},
		},
		{ highWaterMark: maxBytes, size: (chunk) => chunk.byteLength },
	);
	return new Response(bounded, { status, headers });
}
