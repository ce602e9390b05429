// Links over a server of one process: flow, ends, and what a hostile peer can do. Over a real one: test/fleet/.
import { once } from "node:events";
import type { Duplex } from "node:stream";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { until } from "../../test/condition.ts";
import { FakeNats } from "../../test/fleet/fake-nats.ts";
import { encodeFrame } from "./frames.ts";
import { FleetHost } from "./host.ts";
import type { FleetIdentity } from "./identity.ts";
import { type Link, openLink, WINDOW_BYTES } from "./link.ts";

const as = { role: "drive", owner: "a" } as const;

let nats: FakeNats;
let host: FleetHost;
let accepted: { link: Duplex; as: FleetIdentity }[];

beforeEach(() => {
	nats = new FakeNats();
	accepted = [];
	const accept = (link: Duplex, by: FleetIdentity) => void accepted.push({ link, as: by });
	host = new FleetHost(nats.connection("h").real, { accept, epoch: 1, bootId: "b" });
});
afterEach(async () => {
	vi.useRealTimers();
	await host[Symbol.asyncDispose]();
});

const opened = async (by: FleetIdentity = as): Promise<{ near: Link; far: Duplex }> => {
	const near = await openLink(nats.connection("client").real, "h", by);
	near.on("error", () => {});
	return { near, far: accepted.at(-1)!.link };
};

const endOf = async (link: Duplex): Promise<string> => {
	let why = "";
	link.on("error", ({ message }) => {
		why = message;
	});
	await until("the link has ended", () => link.closed);
	return why;
};

describe("a link", () => {
	test("says to the host who asks, by the subject, and from which host, by its own word", async () => {
		const { near } = await opened();
		expect(accepted[0]!.as).toEqual({ role: "drive", owner: "a", from: "client" });
		near.destroy();
		await until("the host knows", () => host.links === 0);
	});

	test("carries any bytes in any pieces, both ways, in order", async () => {
		const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 5000 }), { maxLength: 20 });
		await fc.assert(
			fc.asyncProperty(pieces, pieces, async (up, down) => {
				const { near, far } = await opened();
				const read = async (from: Duplex) => Buffer.concat(await from.toArray());
				const got = Promise.all([read(near), read(far)]);
				for (const piece of up) near.write(piece);
				for (const piece of down) far.write(piece);
				near.end();
				far.end();
				expect(await got).toEqual([Buffer.concat(down), Buffer.concat(up)]);
			}),
			{ numRuns: 30 },
		);
		expect(host.links).toBe(0);
	});

	test("has at most its window beyond what the reader has taken", async () => {
		const { near, far } = await opened();
		for (let i = 0; i < 100; i++) far.write(Buffer.alloc(64 * 1024));
		const sent = () =>
			nats.log.filter(({ subject }) => subject.startsWith("dt.down")).reduce((sum, { data }) => sum + data.length, 0);
		await until("the window is full", () => sent() > WINDOW_BYTES - 64 * 1024);
		for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
		expect(sent()).toBeLessThan(WINDOW_BYTES + 64 * 1024);
		let got = 0;
		near.on("data", (chunk: Buffer) => {
			got += chunk.length;
		});
		await until("all has come", () => got === 100 * 64 * 1024);
		near.destroy();
	});

	test("that is lost on the way ends with an error at both ends", async () => {
		const { near, far } = await opened();
		const ends = Promise.all([endOf(near), endOf(far)]);
		near.write("one");
		await once(far, "data");
		let lost = 0;
		nats.passes = (subject) => !(subject.startsWith("dt.up") && lost++ === 0);
		near.write("two");
		near.write("three");
		expect(await ends).toEqual(["messages were lost", "messages were lost"]);
	});

	test("ends at once where the host has forgotten it", async () => {
		const { near } = await opened();
		const end = endOf(near);
		await host[Symbol.asyncDispose]();
		expect(await end).toBe("the other end has closed it");
		const { link } = {
			link: nats.log
				.find(({ subject }) => subject.startsWith("dt.down"))!
				.subject.split(".")
				.at(-1)!,
		};
		host = new FleetHost(nats.connection("h").real, { accept: () => {}, epoch: 2, bootId: "b" });
		const answers = () => nats.log.filter(({ subject }) => subject === `dt.down.drive.a.${link}`).length;
		const before = answers();
		nats.publish(
			`dt.up.h.drive.a.${link}`,
			encodeFrame({ kind: "ping", number: 1, took: 0, payload: Buffer.alloc(0) }),
		);
		await until("the host says so", () => answers() === before + 1);
	});

	test("ends at once where its client's process is gone and the host writes", async () => {
		const { near, far } = await opened();
		const end = endOf(far);
		nats.passes = (subject) => !subject.startsWith("dt.up"); // it cannot say so
		near.destroy();
		far.write("x");
		expect(await end).toBe("the other end is gone");
	});

	test("ends with the connection", async () => {
		const connection = nats.connection("client");
		const link = await openLink(connection.real, "h", as);
		const end = endOf(link);
		connection.lose();
		expect(await end).toBe("the connection to the fleet was lost");
	});

	test("to a host that is not there is refused at once", async () => {
		const opening = openLink(nats.connection("client").real, "other", as);
		await expect(opening).rejects.toMatchObject({ code: "host_unreachable", facts: { host: "other" } });
	});
});

describe("silence", () => {
	/** Frames on the link's subjects. */
	const frames = () => nats.log.filter(({ subject }) => /^dt\.(up|down)\./.test(subject)).length;
	const clock = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	const pass = async (ms: number) => {
		for (let passed = 0; passed < ms; passed += 100) {
			await vi.advanceTimersByTimeAsync(100);
			await new Promise(setImmediate);
		}
	};

	test("of a peer that has to answer ends the link within seconds", async () => {
		clock();
		const { near } = await opened();
		let why = "";
		near.on("error", ({ message }) => {
			why = message;
		});
		near.awaited = true;
		nats.passes = () => false;
		await pass(6500);
		expect(near.destroyed).toBe(false);
		await pass(1000);
		expect(why).toBe("no answer for 5 s");
	});

	test("of a host that has nothing to say costs its clients a ping in 30 s", async () => {
		clock();
		const { near, far } = await opened();
		near.write("hello");
		await once(far, "data");
		await pass(5000); // one ping has asked for the acknowledgement
		const before = frames();
		await pass(300_000);
		expect(near.destroyed || far.destroyed).toBe(false);
		expect(frames() - before).toBeLessThanOrEqual(2 * 10);
		near.destroy();
	});

	test("of a client that is gone ends its link at the host, and of a host that is gone at the client", async () => {
		clock();
		const { near, far } = await opened();
		nats.passes = () => false;
		await pass(36_000);
		expect(far.destroyed).toBe(true);
		await pass(31_000);
		expect(near.destroyed).toBe(true);
	});

	test("of a process that was stopped itself is not the peer's", async () => {
		clock();
		const { near } = await opened();
		near.awaited = true;
		await pass(1900);
		nats.hold(true);
		await vi.advanceTimersByTimeAsync(200); // pinged
		const { now } = performance;
		performance.now = () => now.call(performance) + 60_000; // nothing ran for a minute
		try {
			await vi.advanceTimersByTimeAsync(5000);
			nats.hold(false);
			await pass(1000);
			expect(near.destroyed).toBe(false);
		} finally {
			performance.now = now;
		}
		near.destroy();
	});
});

describe("a hostile peer", () => {
	const number = fc.oneof(fc.nat({ max: 5 }), fc.constantFrom(2 ** 48 - 1, 2 ** 32, 2 ** 20 + 1));
	const frame = fc.oneof(
		fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
		fc
			.record({
				kind: fc.constantFrom("data", "took", "ping", "pong", "end", "reset"),
				number,
				took: number,
				size: fc.constantFrom(0, 0, 1, 100, 300_000),
			})
			.map(({ kind, number, took, size }) => encodeFrame({ kind, number, took, payload: Buffer.alloc(size) } as never)),
	);

	test("ends its own link at most, whatever it sends, and holds no more than a window", async () => {
		const honest = await opened();
		honest.far.on("data", (chunk) => honest.far.write(chunk));
		await fc.assert(
			fc.asyncProperty(fc.array(frame, { maxLength: 30 }), fc.boolean(), async (sent, inOrder) => {
				const { near } = await opened({ role: "drive", owner: "evil" });
				const far = accepted.at(-1)!.link as Link;
				const { subject } = { subject: subjectOf(near) };
				for (const [at, bytes] of sent.entries()) {
					if (inOrder && bytes.length >= 13) bytes.writeUIntBE(at + 1, 1, 6);
					nats.publish(subject, bytes);
				}
				for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
				expect(far.held).toBeLessThanOrEqual(WINDOW_BYTES);
				honest.near.write("still here");
				expect(String((await once(honest.near, "data"))[0])).toBe("still here");
				near.destroy();
			}),
			{ numRuns: 200 },
		);
		honest.near.destroy();
		await until("all are gone", () => host.links === 0);
	});

	test("cannot write on another's link, nor have the host answer anywhere but in an inbox", async () => {
		const honest = await opened();
		const id = subjectOf(honest.near).split(".").at(-1);
		for (const who of ["drive.b", "admin._", "view.a"]) nats.publish(`dt.up.h.${who}.${id}`, Buffer.from("junk"));
		nats.publish("dt.open.h.drive.b", "{}", { reply: `dt.up.h.drive.a.${id}` });
		nats.publish("dt.open.h.drive.b", "{}", { reply: "$JS.API.STREAM.DELETE.DT_EVENTS" });
		nats.publish("dt.open.h.drive.b", "{}", { reply: "_INBOX.KEY.of-others" });
		for (const junk of ["", "{", "x".repeat(100_000), '{"from":7}', '{"from":"../x"}'])
			expect(await nats.request("dt.open.h.drive.b", junk)).not.toBeNull();
		expect(accepted.slice(1).every((one) => one.as.from === undefined && one.as.owner === "b")).toBe(true);
		expect(nats.log.some(({ subject }) => subject.startsWith("$JS") || subject.endsWith("of-others"))).toBe(false);
		expect(honest.near.destroyed || honest.far.destroyed).toBe(false);
		for (const subject of ["dt.open.h.root.a", "dt.open.h.drive.=61"])
			expect(JSON.parse(String((await nats.request(subject, "{}"))?.data))).toMatchObject({
				fault: { fault: "not_allowed" },
			});
	});

	test("that opens links for ever is refused beyond its share, and others are not", async () => {
		for (let i = 0; i < 1024; i++) await nats.request("dt.open.h.drive.b", "{}");
		const refused = openLink(nats.connection("client").real, "h", { role: "drive", owner: "b" });
		await expect(refused).rejects.toMatchObject({ code: "too_many_calls" });
		const { near } = await opened();
		near.destroy();
	});
});

/** Where the client's frames go. */
function subjectOf(link: Link): string {
	const before = nats.log.length;
	link.write("x");
	return nats.log.slice(before).find(({ subject }) => subject.startsWith("dt.up"))!.subject;
}
