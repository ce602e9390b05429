// What a watch tells of a stream that is interrupted, lost, or made anew under its name: each message once, in order,
// and nothing asked of the broker but consumers.

import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { describe, expect, test as vitestTest } from "vitest";
import { WATCH_START_MS } from "../../src/fleet/buckets.ts";
import { Connected } from "../../src/fleet/connected.ts";
import { type Seen, StreamWatch, type StreamWatchParts } from "../../src/fleet/stream-watch.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { OneServer } from "./one-server.ts";

const test = (name: string, run: () => Promise<void>) => vitestTest(name, needing("nats-server"), run);

/** A stream with a watch of its subjects, and what that has told. */
class Watched implements AsyncDisposable {
	readonly server: OneServer;
	readonly #nats: NatsConnection;
	readonly connected: Connected;
	/** What it asked JetStream for. */
	readonly asked: string[] = [];
	/** So many of the next requests are never answered, as by a cluster without a leader. */
	dropped = 0;
	readonly told: string[] = [];
	/** The place of each of them. */
	readonly seen: Seen[] = [];
	/** The subjects that there were whenever all was read. */
	readonly read: (readonly string[])[] = [];
	watch!: StreamWatch;

	private constructor(server: OneServer, nats: NatsConnection, watching: NatsConnection) {
		this.server = server;
		this.#nats = nats;
		this.connected = new Connected(watching);
	}

	static async start(begin?: StreamWatchParts["begin"], { isThere = true } = {}): Promise<Watched> {
		const server = await OneServer.start();
		const watching = await server.connect();
		const watched = new Watched(server, await server.connect(), watching);
		if (isThere) await watched.make(begin === undefined);
		const request = watching.request.bind(watching);
		watching.request = (subject, ...rest) => {
			watched.asked.push(subject.split(".").slice(0, 4).join("."));
			if (/CONSUMER.CREATE/.test(subject) && watched.dropped-- > 0) return new Promise(() => {});
			return request(subject, ...rest);
		};
		watched.watch = new StreamWatch({
			js: jetstream(watching),
			patient: jetstream(watching, { timeout: WATCH_START_MS }),
			ensure: async () => {},
			stream: "S",
			filter: "s.*",
			...(begin !== undefined && { begin }),
			connected: watched.connected,
			onMessage: (message) => {
				watched.told.push(`${message.subject}=${message.string()}`);
				watched.seen.push([message.seq, message.timestampNanos]);
			},
			onComplete: (subjects) => void watched.read.push([...subjects].sort()),
		});
		await watched.watch.ready();
		return watched;
	}

	async make(isBucket: boolean): Promise<void> {
		const manager = await jetstreamManager(this.#nats);
		await manager.streams.add({ name: "S", subjects: ["s.*"], ...(isBucket && { max_msgs_per_subject: 1 }) });
	}

	async remake(isBucket: boolean): Promise<void> {
		await (await jetstreamManager(this.#nats)).streams.delete("S");
		await this.make(isBucket);
	}

	/** `s.KEY=VALUE` each. */
	async say(...messages: string[]): Promise<void> {
		for (const message of messages) {
			const [subject = "", value] = message.split("=");
			await until(`${message} is taken`, () =>
				jetstream(this.#nats)
					.publish(subject, value, { msgID: `${message}:${this.#serial++}`, timeout: 2000 })
					.catch(() => false),
			);
		}
	}
	#serial = 0;

	async tells(...messages: string[]): Promise<void> {
		await until(`it tells ${messages.at(-1)}`, () => this.told.includes(messages.at(-1)!));
		expect(this.told).toEqual(messages);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.watch[Symbol.asyncDispose]();
		this.connected[Symbol.dispose]();
		await this.server[Symbol.asyncDispose]();
	}
}

const numbered = (from: number, count: number) => Array.from({ length: count }, (_, i) => `s.a=${from + i}`);

describe("a watch of a log", () => {
	test("tells what comes, over a restart of the broker, and asks for consumers only", async () => {
		await using watched = await Watched.start("new");
		await watched.say(...numbered(0, 200));
		await watched.tells(...numbered(0, 200));
		await watched.server.down();
		await until("the loss is known", () => watched.connected.awaySince !== null);
		await watched.server.up();
		await watched.say(...numbered(200, 3));
		await watched.tells(...numbered(0, 203));
		expect(new Set(watched.asked.filter((subject) => !subject.includes("CONSUMER.DELETE")))).toEqual(
			new Set(["$JS.API.CONSUMER.CREATE"]),
		);
	});

	test("tells what was said while it was away, also where it had heard nothing before", async () => {
		await using watched = await Watched.start("new");
		await watched.server.down();
		await until("the loss is known", () => watched.connected.awaySince !== null);
		await watched.server.up();
		await watched.say("s.a=1", "s.b=2");
		await watched.tells("s.a=1", "s.b=2");
	});

	test("tells all of a stream that was made anew, though it has as many messages as the one before", async () => {
		await using watched = await Watched.start("new");
		await watched.say(...numbered(0, 5));
		await watched.tells(...numbered(0, 5));
		await watched.remake(false);
		await watched.say(...numbered(5, 20));
		watched.connected.doubt();
		await watched.tells(...numbered(0, 25));
		await watched.say("s.a=25");
		await watched.tells(...numbered(0, 26));
	});

	test("tells all of a stream that was not there when it began", async () => {
		await using watched = await Watched.start("new", { isThere: false });
		await watched.make(false);
		await watched.say(...numbered(0, 3));
		await watched.tells(...numbered(0, 3));
	});

	test("begins behind what was told before, and tells nothing twice when it is cut off while it reads", async () => {
		await using watched = await Watched.start("new");
		await watched.say(...numbered(0, 300));
		const told: string[] = [];
		const after = await until("ten are told", () => watched.seen[9]);
		await using _replay = new StreamWatch({
			js: jetstream(await watched.server.connect()),
			ensure: async () => {},
			stream: "S",
			filter: "s.*",
			begin: { after },
			connected: watched.connected,
			onMessage: (message) => {
				told.push(message.string());
				if (told.length === 100) watched.connected.doubt();
			},
		});
		await until("it is read", () => told.includes("299"));
		expect(told).toEqual(numbered(10, 290).map((message) => message.slice(4)));
	});
});

describe("a watch of a bucket", () => {
	test("goes on behind what it has after a restart, and reads all again only where nothing of that is left", async () => {
		await using watched = await Watched.start();
		await watched.say("s.a=1", "s.b=1", "s.c=1");
		await watched.tells("s.a=1", "s.b=1", "s.c=1");
		await watched.server.down();
		await until("the loss is known", () => watched.connected.awaySince !== null);
		await watched.server.up();
		// The last one that it has seen is replaced, an earlier one is there.
		await watched.say("s.c=2");
		await watched.tells("s.a=1", "s.b=1", "s.c=1", "s.c=2");
		expect(watched.read).toEqual([[]]);
	});

	test("reads one that was made anew, and tells what is gone", async () => {
		await using watched = await Watched.start();
		await watched.say("s.a=1", "s.b=1");
		await watched.tells("s.a=1", "s.b=1");
		await watched.remake(true);
		await watched.say("s.b=1", "s.b=2", "s.b=3", "s.c=1");
		watched.connected.doubt();
		await watched.tells("s.a=1", "s.b=1", "s.b=3", "s.c=1");
		await until("it is read", () => watched.read.length === 2);
		expect(watched.read).toEqual([[], ["s.b", "s.c"]]);
	});

	test("is read soon although the broker dropped what it was asked for at first", async () => {
		await using watched = await Watched.start();
		watched.dropped = 1;
		watched.connected.doubt();
		await until("it asks", () => watched.dropped <= 0);
		await watched.say("s.a=1");
		await until("it tells that", () => watched.told.length > 0, { withinMs: WATCH_START_MS / 2 });
		expect(watched.told).toEqual(["s.a=1"]);
	});

	test("is asked for again at once where the broker is known to answer, however long it did not", async () => {
		await using watched = await Watched.start();
		watched.dropped = 3;
		watched.connected.doubt();
		await until("it has asked three times, and waits the longer for it", () => watched.dropped <= 0);
		const since = performance.now();
		await watched.say("s.a=1");
		watched.connected.doubt();
		await until("it tells that", () => watched.told.length > 0);
		expect(watched.told).toEqual(["s.a=1"]);
		expect(performance.now() - since).toBeLessThan(10_000); // the third time it would have waited 20 s
	});

	test("of which there is none yet is empty, and is read when it is there", async () => {
		await using watched = await Watched.start(undefined, { isThere: false });
		expect(watched.told).toEqual([]);
		await watched.make(true);
		await watched.say("s.a=1");
		await watched.tells("s.a=1");
	});
});
