import { expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import { LastingClient } from "./lasting-client.ts";
import type { SocketClient } from "./socket-client.ts";

/** A client of daemons that answer calls in this way, each once. */
function clientOf(...daemons: readonly (() => Promise<never>)[]): LastingClient {
	const left = [...daemons];
	const connect = async () => {
		const daemon = {
			call: left.shift()!,
			lost: false,
			[Symbol.asyncDispose]: async () => {
				daemon.lost = true;
			},
		};
		return daemon as unknown as SocketClient;
	};
	return new LastingClient({ connect, find: connect });
}

const silent = async () => {
	throw new Fault("daemon_replaced", { doing: "send", repeatable: false, silent: true });
};
const refusals = [
	new Fault("host_unreachable", { host: "beta" }),
	new Fault("fleet_unreachable", { problem: "not connected" }),
	new Fault("unknown_host", { host: "beta", hosts: [] }),
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
