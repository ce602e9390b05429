// One JSON-RPC message per line on two streams. What is not a message is answered
// with an error, as JSON-RPC asks for; the SDK's own transport drops it silently, and its sender waits in vain.

import type { Readable, Writable } from "node:stream";
import {
	JSONRPC_VERSION,
	type JSONRPCMessage,
	ProtocolErrorCode,
	parseJSONRPCMessage,
	serializeMessage,
	type Transport,
} from "@modelcontextprotocol/server";
import { guarded } from "../protocol/boundary.ts";
import { hasAtMostValues } from "../protocol/json-size.ts";
import { limits } from "../session/options.ts";

// A write of 1 MiB, escaped in JSON, with a margin; the same as over HTTP.
const MAX_LINE_BYTES = 4 << 20;
const NEWLINE = 0x0a;

export class StdioTransport implements Transport {
	onclose?: () => void;
	onerror?: (error: Error) => void;
	onmessage?: (message: JSONRPCMessage) => void;
	readonly #input: Readable;
	readonly #output: Writable;
	/** The beginning of a line; null while the rest of one that is too long is dropped. */
	#pending: Buffer[] | null = [];
	#pendingBytes = 0;
	#closed = false;

	constructor(input: Readable, output: Writable) {
		this.#input = input;
		this.#output = output;
	}

	async start(): Promise<void> {
		this.#input.on("data", this.#received);
		this.#input.on("error", this.#ended);
		this.#input.on("end", this.#ended);
		this.#input.on("close", this.#ended);
		this.#output.on("error", this.#ended);
	}

	/** Resolves when the reader has taken it. */
	async send(message: JSONRPCMessage): Promise<void> {
		if (this.#closed) throw new Error("the connection is closed");
		await new Promise<void>((resolve, reject) =>
			this.#output.write(serializeMessage(message), (error) => (error ? reject(error) : resolve())),
		);
	}

	async close(): Promise<void> {
		if (this.#closed) return;
		this.#closed = true;
		this.#input.off("data", this.#received);
		this.#input.pause();
		this.onclose?.();
	}

	readonly #ended = guarded("mcp stdio", () => this.close());

	readonly #received = guarded("mcp stdio", (chunk: Buffer) => {
		let start = 0;
		for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
			this.#keep(chunk.subarray(start, end));
			start = end + 1;
			const line = this.#pending === null ? null : Buffer.concat(this.#pending);
			this.#pending = [];
			this.#pendingBytes = 0;
			if (line !== null) this.#deliver(line);
		}
		this.#keep(chunk.subarray(start));
	});

	#keep(part: Buffer): void {
		if (this.#pending === null) return;
		this.#pendingBytes += part.length;
		this.#pending.push(part);
		if (this.#pendingBytes <= MAX_LINE_BYTES) return;
		this.#pending = null;
		this.#refuse(ProtocolErrorCode.InvalidRequest, `Invalid request: a line is longer than ${MAX_LINE_BYTES} bytes.`);
	}

	#deliver(bytes: Buffer): void {
		const most = limits.bodyValues;
		if (!hasAtMostValues(bytes, most)) {
			this.#refuse(ProtocolErrorCode.InvalidRequest, `Invalid request: more than ${most} JSON values.`);
			return;
		}
		const line = bytes.toString("utf8");
		if (line.trim() === "") return;
		let message: JSONRPCMessage;
		try {
			message = parseJSONRPCMessage(JSON.parse(line));
		} catch (error) {
			if (error instanceof SyntaxError) this.#refuse(ProtocolErrorCode.ParseError, `Parse error: ${error.message}`);
			else this.#refuse(ProtocolErrorCode.InvalidRequest, "Invalid request: not a JSON-RPC 2.0 message.");
			return;
		}
		this.onmessage?.(message);
	}

	/** The id is null, because it is not known which request it was; the SDK's type leaves that out. */
	#refuse(code: number, message: string): void {
		const error = { jsonrpc: JSONRPC_VERSION, id: null, error: { code, message } };
		this.onerror?.(new Error(message));
		if (!this.#closed) this.#output.write(`${JSON.stringify(error)}\n`);
	}
}
