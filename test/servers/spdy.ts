// The server's side of SPDY/3.1, as far as `kubectl exec` needs it: streams that the client opens, without flow control.

import type { Socket } from "node:net";
import { constants, createDeflate, createInflate } from "node:zlib";

const SYN_STREAM = 1;
const SYN_REPLY = 2;
const RST_STREAM = 3;
const PING = 6;
const CONTROL = 0x8003_0000; // the bit of control frames, and version 3
const FIN = 1;

/** What headers are compressed with: words behind their lengths, then text as it is (SPDY/3, section 2.6.10.1). */
const WORDS = [
	"options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow",
	"authorization cache-control connection content-base content-encoding content-language content-length content-location",
	"content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match",
	"if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range",
	"referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get",
	"status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin",
].flatMap((line) => line.split(" ").map((word) => word.replace("_", " ")));
const TEXT = [
	"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
	"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden",
	"404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept ",
	"Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,",
	"application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch",
	"charset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
];
const dictionary = Buffer.concat([
	...WORDS.flatMap((word) => [uint32(word.length), Buffer.from(word)]),
	Buffer.from(TEXT.join("")),
]);

export class SpdyStream {
	readonly headers: ReadonlyMap<string, string>;
	readonly #send: (flags: number, bytes: Uint8Array) => void;
	onData: (bytes: Buffer) => void = () => {};
	onEnd: () => void = () => {};

	constructor(headers: ReadonlyMap<string, string>, send: (flags: number, bytes: Uint8Array) => void) {
		this.headers = headers;
		this.#send = send;
	}

	write(bytes: Uint8Array): void {
		this.#send(0, bytes);
	}

	end(): void {
		this.#send(FIN, new Uint8Array());
	}
}

/** Speaks SPDY on a socket from here on; resolves when that has ended, however. */
export async function serveSpdy(socket: Socket, head: Buffer, onStream: (stream: SpdyStream) => void): Promise<void> {
	// Each direction has one compression for all of its frames.
	const inflate = createInflate({ dictionary, flush: constants.Z_SYNC_FLUSH });
	const deflate = createDeflate({ dictionary, flush: constants.Z_SYNC_FLUSH });
	const streams = new Map<number, SpdyStream>();
	const send = (first: number, flags: number, bytes: Uint8Array) => {
		if (socket.writable) socket.write(Buffer.concat([uint32(first), uint32(flags * 2 ** 24 + bytes.length), bytes]));
	};
	try {
		for await (const { type, id, flags, body } of frames(socket, head)) {
			if (type === null) {
				streams.get(id)?.onData(body);
				if (flags & FIN) streams.get(id)?.onEnd();
			} else if (type === SYN_STREAM) {
				const headers = headersIn(await passed(inflate, body.subarray(10)));
				const stream = new SpdyStream(headers, (fin, bytes) => send(id, fin, bytes));
				streams.set(id, stream);
				send(CONTROL + SYN_REPLY, 0, Buffer.concat([uint32(id), await passed(deflate, uint32(0))]));
				onStream(stream);
			} else if (type === RST_STREAM) streams.get(id)?.onEnd();
			else if (type === PING) send(CONTROL + PING, 0, body);
		}
	} catch (error) {
		if (!socket.destroyed) throw error; // a connection that was lost is an end
	} finally {
		inflate.close();
		deflate.close();
	}
}

interface Frame {
	/** Null: data. */
	readonly type: number | null;
	/** Of the stream, where it is about one. */
	readonly id: number;
	readonly flags: number;
	readonly body: Buffer;
}

async function* frames(socket: Socket, head: Buffer): AsyncGenerator<Frame> {
	let rest = head;
	for (;;) {
		while (rest.length >= 8 && rest.length >= 8 + rest.readUIntBE(5, 3)) {
			const body = rest.subarray(8, 8 + rest.readUIntBE(5, 3));
			const first = rest.readUInt32BE(0);
			const isControl = first >= CONTROL;
			const id = isControl ? (body.length < 4 ? 0 : body.readUInt32BE(0)) : first;
			yield { type: isControl ? first - CONTROL : null, id, flags: rest.readUInt8(4), body };
			rest = rest.subarray(8 + body.length);
		}
		const more = (await nextOf(socket)) as Buffer | null;
		if (more === null) return;
		rest = Buffer.concat([rest, more]);
	}
}

/** Null: it has ended. */
async function nextOf(socket: Socket): Promise<Buffer | null> {
	for (;;) {
		const bytes = socket.read() as Buffer | null;
		if (bytes !== null) return bytes;
		if (socket.readableEnded || socket.destroyed) return null;
		await new Promise<void>((resolve) => {
			const settle = () => {
				for (const event of ["readable", "end", "close"]) socket.off(event, settle);
				resolve();
			};
			for (const event of ["readable", "end", "close"]) socket.on(event, settle);
		});
	}
}

/** What comes out of a compression for what goes in. */
async function passed(
	through: ReturnType<typeof createInflate | typeof createDeflate>,
	bytes: Buffer,
): Promise<Buffer> {
	await new Promise((resolve) => through.write(bytes, resolve));
	return (through.read() as Buffer | null) ?? Buffer.alloc(0);
}

function headersIn(block: Buffer): ReadonlyMap<string, string> {
	let at = 4;
	const text = () => {
		const length = block.readUInt32BE(at);
		at += 4 + length;
		return block.toString("utf8", at - length, at);
	};
	return new Map(Array.from({ length: block.readUInt32BE(0) }, () => [text(), text()] as const));
}

function uint32(value: number): Buffer {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32BE(value);
	return bytes;
}
