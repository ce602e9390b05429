import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import { LastingClient } from "./lasting-client.ts";
import type { SocketClient } from "./socket-client.ts";

function daemonThat(answer: () => Promise<never>): SocketClient {
	const daemon = {
		call: answer,
		act: answer,
		lost: false,
		[Symbol.asyncDispose]: async () => {
			daemon.lost = true;
		},
	};
	return daemon as unknown as SocketClient;
}

/** A client of daemons that answer calls in this way, each once. */
function clientOf(...daemons: readonly (() => Promise<never>)[]): LastingClient {
	const left = [...daemons];
	const connect = async () => daemonThat(left.shift()!);
	return new LastingClient({ connect, find: connect });
}

const silent = async () => {
	throw new Fault("daemon_replaced", { doing: "send", repeatable: false, silent: true });
};
const refusals = [
	new Fault("host_unreachable", { host: "beta" }),
	new Fault("fleet_unreachable", { problem: "not connected" }),
	new Fault("unknown_host", { host: "beta", hosts: [] }),
	new Fault("host_version", { host: "beta", ours: "1", theirs: "2" }),
];

test.each(refusals)(
	"a repetition that did not reach the other host says nothing of what was sent first ($code)",
	async (refusal) => {
		const refused = async () => {
			throw refusal;
		};
		await using client = clientOf(silent, refused);
		const sent = client.call("send", { session: "beta/quiet", text: "once" });
		await expect(sent).rejects.toMatchObject({ code: "daemon_replaced", facts: { doing: "send", repeatable: false } });
		// What only reads was not done, whatever became of it.
		await using reader = clientOf(silent, refused);
		await expect(reader.call("read", { session: "beta/quiet" })).rejects.toMatchObject({ code: refusal.code });
		await using other = clientOf(refused);
		await expect(other.call("send", { session: "beta/quiet", text: "x" })).rejects.toMatchObject({
			code: refusal.code,
		});
	},
);

const here = { id: "driven", sessionId: "abc" };

test.each([
	new Fault("not_driving", { ...here, who: "beta" }),
	new Fault("driven_by_human", { ...here, who: "beta", since: 0 }),
	new Fault("typed_by_human", { ...here, did: [] }),
	new Fault("not_asked", { ...here, what: "an answer" }),
])(
	"that somebody else drives by the time of the repetition says nothing of what was typed first ($code)",
	async (refusal) => {
		const refused = async () => {
			throw refusal;
		};
		await using person = clientOf(silent, refused);
		const keys = person.act("driven", { act: "keys", lease: "mine", base64: "eA==" });
		await expect(keys).rejects.toMatchObject({ code: "daemon_replaced", facts: { doing: "keys", repeatable: false } });
		await using agent = clientOf(silent, refused);
		const sent = agent.call("send", { session: "driven", text: "x" });
		await expect(sent).rejects.toMatchObject({ code: "daemon_replaced", facts: { doing: "send", repeatable: false } });
		// Whoever goes on with a lease has to know that it is lost, and has done nothing before.
		await using back = clientOf(silent, refused);
		const taken = back.act("driven", { act: "take", who: "me", lease: "mine" });
		await expect(taken).rejects.toMatchObject({ code: refusal.code });
		await using other = clientOf(refused);
		const first = other.act("driven", { act: "keys", lease: "mine", base64: "eA==" });
		await expect(first).rejects.toMatchObject({ code: refusal.code });
	},
);

test("a session that has ended by the time of the repetition may have been typed into first", async () => {
	const ended = async () => {
		throw new Fault("session_ended", { ...here, how: "code 0" });
	};
	await using client = clientOf(silent, ended);
	const sent = client.call("send", { session: "driven", text: "exit", submit: true });
	await expect(sent).rejects.toMatchObject({ code: "session_ended", facts: { maybeTyped: true } });
	await using other = clientOf(ended);
	await expect(other.call("send", { session: "driven", text: "x" })).rejects.not.toHaveProperty("facts.maybeTyped");
});

test("a call that was cut off does not wait for a host that is known to be away", async () => {
	let isAway = false;
	let tries = 0;
	const connect = async () => {
		if (tries++ > 0) {
			isAway = tries > 3;
			throw new Fault("host_unreachable", { host: "beta" });
		}
		return daemonThat(silent);
	};
	await using client = new LastingClient({ connect, find: connect, patienceMs: 600_000, isAway: () => isAway });
	const sent = client.call("send", { session: "beta/quiet", text: "once" });
	await expect(sent).rejects.toMatchObject({ code: "daemon_replaced", facts: { repeatable: false } });
	expect(tries).toBe(4);
});

test("that a stopped daemon is not reached again says nothing of what it was sent before", async () => {
	let tries = 0;
	const connect = async () => {
		if (tries++ > 0) throw new Fault("no_daemon", { problem: "it does not answer" });
		return daemonThat(silent);
	};
	await using client = new LastingClient({ connect, find: connect });
	const sent = client.call("send", { session: "quiet", text: "once" });
	await expect(sent).rejects.toMatchObject({ code: "daemon_replaced", facts: { doing: "send", repeatable: false } });
	await using reader = new LastingClient({ connect, find: connect });
	await expect(reader.call("read", { session: "quiet" })).rejects.toMatchObject({ code: "no_daemon" });
});

describe("a call to a host that is not heard of any more is refused so long after it was heard of last", () => {
	const patienceMs = 1000;
	/** Of a call to a host whose silence is noticed late. */
	async function timed(connect: () => Promise<SocketClient>): Promise<number> {
		const asked = performance.now();
		const lost = async () => {
			await delay(0.9 * patienceMs);
			return silent();
		};
		const first = Object.assign(daemonThat(lost), { heardAt: asked });
		let tries = 0;
		const next = () => (tries++ === 0 ? Promise.resolve(first) : connect());
		await using client = new LastingClient({ connect: next, find: next, patienceMs });
		const keys = client.act("beta/driven", { act: "keys", lease: "mine", base64: "eA==" });
		await expect(keys).rejects.toMatchObject({ code: "daemon_replaced", facts: { repeatable: false } });
		return performance.now() - asked; // before the client is disposed of, which waits for its connection
	}

	test("however late that was noticed", async () => {
		const refused = async () => {
			throw new Fault("host_unreachable", { host: "beta" });
		};
		expect(await timed(refused)).toBeLessThan(1.6 * patienceMs);
	});

	test("and however long an answer to the next connection is awaited", async () => {
		const hangs = async () => {
			await delay(2 * patienceMs);
			throw new Fault("host_unreachable", { host: "beta" });
		};
		expect(await timed(hangs)).toBeLessThan(1.6 * patienceMs);
		await using client = new LastingClient({ connect: hangs, find: hangs, patienceMs: 100 });
		await expect(client.call("list", {})).rejects.toMatchObject({ code: "no_daemon" });
	});
});

test.each([
	{ act: "restart", who: "me" },
	{ act: "rename", who: "me", name: "other" },
	{ act: "remove", who: "me" },
] as const)(
	"issue 15: what a person does to a whole session is not done again where it was cut off ($act)",
	async (act) => {
		let asked = 0;
		const answer = async () => {
			asked++;
			return silent();
		};
		await using client = clientOf(answer, answer);
		const done = client.act("beta/whole", act);
		await expect(done).rejects.toMatchObject({ code: "daemon_replaced", facts: { doing: act.act, repeatable: false } });
		expect(asked).toBe(1);
		// One that was refused by a daemon that stops was not done.
		const stopping = async () => {
			throw new Fault("no_daemon", { problem: "it is stopping" });
		};
		await using other = clientOf(stopping, answer);
		await expect(other.act("beta/whole", act)).rejects.toMatchObject({ code: "daemon_replaced" });
		expect(asked).toBe(2);
	},
);

test("issue 15: a call that was cut off by an upgrade does not wait for a host of another version", async () => {
	let tries = 0;
	const connect = async () => {
		if (tries++ > 0) throw new Fault("host_version", { host: "beta", ours: "1.0.0", theirs: "2.0.0" });
		return daemonThat(silent);
	};
	await using client = new LastingClient({ connect, find: connect, patienceMs: 600_000 });
	await expect(client.call("read", { session: "beta/quiet" })).rejects.toMatchObject({ code: "host_version" });
	expect(tries).toBe(2);
});

test("a client that is disposed while something is under way does not say that it was not done", async () => {
	let close = () => {};
	const cutOff = async () => {
		close();
		throw new Fault("daemon_replaced", { doing: "send", repeatable: false });
	};
	for (const [tool, repeatable] of [
		["send", false],
		["close", false],
		["read", true],
	] as const) {
		const client = clientOf(cutOff, cutOff);
		close = () => void client[Symbol.asyncDispose]();
		const asked = client.call(tool, { session: "quiet", text: "once" });
		await expect(asked).rejects.toMatchObject({ code: "daemon_replaced", facts: { repeatable } });
	}
});
