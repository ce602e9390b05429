// One terminal over a WebSocket: its screen and output to a page, and what the person at the page does to the session.
// docs/http.md has the messages.
//
// The page says how far it has drawn; no more than a window beyond that is sent, so a page that is slow or stuck costs a
// window. What it does is done in the order in which it came.

import type { WebSocket } from "ws";
import { z } from "zod";
import { faultAt, guarded } from "../protocol/boundary.ts";
import type { PersonAct } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import { onAbort, until } from "../pty/wait.ts";
import type { Ability } from "../tools/abilities.ts";
import type { SessionClient, ViewChunk } from "../tools/client.ts";
import { height, width } from "../tools/fields.ts";
import { actFields } from "../tools/person-act.ts";

const WINDOW_BYTES = 256 * 1024;
const OFFSET_BYTES = 8;
/** Acts that wait for those before them; a person does a few a second. */
const MAX_WAITING = 256;

const { lease, id, line, note } = actFields;

const message = z.discriminatedUnion("type", [
	z.object({ type: z.literal("took"), offset: z.int().min(0) }),
	z.object({
		type: z.literal("take"),
		lease: z.exactOptional(lease),
		cols: width.optional(),
		rows: height.optional(),
	}),
	z.object({ type: z.literal("input"), text: z.string(), id }),
	z.object({ type: z.literal("paste"), text: z.string(), id }),
	z.object({ type: z.literal("resize"), cols: width, rows: height }),
	z.object({ type: z.literal("hand-back"), note }),
	z.object({ type: z.literal("secret"), text: line, id }),
	z.object({ type: z.literal("answer"), text: z.exactOptional(line), declined: z.exactOptional(z.literal(true)), id }),
]);
type Message = z.output<typeof message>;

/** What each message needs. */
const NEEDS: Readonly<Record<Message["type"], Ability>> = {
	took: "reads",
	take: "administers",
	input: "administers",
	paste: "administers",
	resize: "administers",
	"hand-back": "administers",
	secret: "approves",
	answer: "approves",
};

export interface TerminalSocketParts {
	readonly client: SessionClient;
	/** Its id, or a name. Rejected where there is none for this token. */
	readonly session: Promise<string>;
	readonly socket: WebSocket;
	readonly stop: AbortController;
	/** The page will say that it has drawn this. */
	readonly expectAnswer: () => void;
	/** Under which name they act; null: they only watch. */
	readonly person: string | null;
	may(ability: Ability): boolean;
}

/** Serves one page until the session has ended or the page is gone. */
export async function serveTerminal({
	client,
	session,
	socket,
	stop,
	expectAnswer,
	person,
	may,
}: TerminalSocketParts): Promise<void> {
	const { signal } = stop;
	const moved = new Listeners<void>("page");
	let [sent, taken] = [0, 0];
	let lease: string | undefined;
	let isMine = false;
	let connection = new AbortController();
	const send = (value: object) => socket.send(JSON.stringify(value));

	/** Tells who drives, and is the connection by which a lease lasts. */
	const followDriver = async () => {
		while (!signal.aborted) {
			connection = new AbortController();
			const { signal: connected } = connection;
			const unlink = onAbort(signal)(() => connection.abort());
			try {
				for await (const { driver, mine } of client.drivers(await session, { lease, signal: connected })) {
					isMine = mine;
					send({ type: "driver", driver, mine, lease: mine ? (lease ?? null) : null });
				}
			} finally {
				unlink();
			}
			if (!connected.aborted) return;
		}
	};

	const act = async (wanted: Message): Promise<void> => {
		if (wanted.type === "took") return;
		if (person === null || !may(NEEDS[wanted.type]))
			throw new Fault("not_allowed", { what: "Typing with what only shows a session" });
		if (wanted.type !== "take") {
			await client.act(await session, actOf(wanted, { lease: lease ?? "", who: person }));
			if ("id" in wanted && wanted.id !== undefined) send({ type: "typed", id: wanted.id });
			return;
		}
		if (wanted.lease === undefined && isMine) return; // a second click
		const take: PersonAct = { act: "take", who: person, ...(wanted.lease !== undefined && { lease: wanted.lease }) };
		lease = (await client.act(await session, take)).lease;
		isMine = true;
		connection.abort(); // joined anew, with the lease
		const { cols, rows } = wanted;
		if (lease !== undefined && cols !== undefined && rows !== undefined)
			await client.act(await session, { act: "resize", lease, cols, rows });
	};

	let waiting = 0;
	let last: Promise<void> = Promise.resolve();
	const receive = guarded("terminal socket message", (data: Buffer) => {
		const parsed = message.safeParse(parseJson(data));
		if (!parsed.success)
			return send(refused({ type: "message" }, new Fault("bad_input", { problems: ["not a message of this stream"] })));
		const wanted = parsed.data;
		if (wanted.type === "took") {
			taken = Math.max(taken, Math.min(sent, wanted.offset));
			return moved.emit();
		}
		if (waiting >= MAX_WAITING)
			return send(refused(wanted, new Fault("too_many_calls", { what: "acts on this terminal", limit: MAX_WAITING })));
		waiting++;
		last = last
			.then(() => act(wanted))
			.catch((error: unknown) => send(refused(wanted, faultAt("terminal socket", error))))
			.finally(() => waiting--);
	});
	socket.on("message", receive);

	const show = async () => {
		for await (const chunk of client.view(await session, { signal })) {
			const to = sendChunk(socket, chunk);
			sent = to ?? sent;
			if (to !== null) expectAnswer();
			if (to !== null && to - taken > WINDOW_BYTES)
				await until(
					() => signal.aborted || to - taken <= WINDOW_BYTES,
					onAbort(signal),
					(listener) => moved.add(listener),
				);
			if (signal.aborted) return;
		}
		if (signal.aborted) return;
		socket.close(1000);
	};
	try {
		await Promise.all([show(), followDriver()]);
	} catch (error) {
		if (signal.aborted || socket.readyState !== socket.OPEN) return;
		send(refused({ type: "watch" }, faultAt("terminal socket", error)));
		socket.close(1011);
	} finally {
		stop.abort();
	}
}

/** Where the page is when it has drawn this; null: that does not count. */
function sendChunk(socket: WebSocket, chunk: ViewChunk): number | null {
	if ("bytes" in chunk) {
		const binary = Buffer.alloc(OFFSET_BYTES + chunk.bytes.length);
		binary.writeBigUInt64LE(BigInt(chunk.offset));
		binary.set(chunk.bytes, OFFSET_BYTES);
		socket.send(binary);
		return chunk.offset + chunk.bytes.length;
	}
	if ("snapshot" in chunk) {
		socket.send(JSON.stringify({ type: "snapshot", ...chunk.snapshot }));
		return chunk.snapshot.offset;
	}
	if ("ended" in chunk) socket.send(JSON.stringify({ type: "ended", ...chunk.ended }));
	else if ("gap" in chunk) socket.send(JSON.stringify({ type: "gap", ...chunk.gap }));
	else socket.send(JSON.stringify({ type: "resized", ...chunk.resized, offset: chunk.offset }));
	return null;
}

function actOf(
	wanted: Exclude<Message, { type: "took" | "take" }>,
	{ lease, who }: { lease: string; who: string },
): PersonAct {
	const same = "id" in wanted && wanted.id !== undefined ? { id: wanted.id } : {};
	switch (wanted.type) {
		case "input":
			return { act: "keys", lease, base64: Buffer.from(wanted.text).toString("base64"), ...same };
		case "paste":
			return { act: "paste", lease, text: wanted.text, ...same };
		case "resize":
			return { act: "resize", lease, cols: wanted.cols, rows: wanted.rows };
		case "hand-back":
			return { act: "hand-back", lease, ...(wanted.note !== undefined && { note: wanted.note }) };
		case "secret":
			return { act: "secret", who, lease, text: wanted.text, ...same };
		case "answer":
			if (wanted.declined) return { act: "decline", who };
			return { act: "answer", who, lease, text: wanted.text ?? "", ...same };
	}
}

const refused = ({ type, id }: { type: string; id?: string }, fault: Fault) => ({
	type: "refused",
	to: type,
	...(id !== undefined && { id }),
	fault: fault.toJSON(),
});

function parseJson(data: Buffer): unknown {
	try {
		return JSON.parse(data.toString("utf8"));
	} catch {
		return null;
	}
}
