// A machine of a fleet that is rebooted: its pids and sockets mean nothing any more, and only its own daemon can say what
// became of its sessions. Until it has, the others call them neither running nor ended.

import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SocketClient } from "../../src/daemon/socket-client.ts";
import type { Client } from "../../src/tools/client.ts";
import { gone } from "../alive.ts";
import { until } from "../condition.ts";
import type { Home } from "../daemon/home.ts";
import { needing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { called, codeOf, TwoHosts } from "./two-hosts.ts";

const patient = { timeoutMs: 60_000 };
const DAEMON = join(import.meta.dirname, "../../dist/daemon.cjs");

/** Ends the daemon of this home, its holders and their programs, as a power cut does. */
async function cutPower(home: Home): Promise<void> {
	await using client = await home.find();
	const { facts } = await client!.call("list", { status: "running" });
	const programs = facts.sessions.map(({ pid }) => pid!);
	const pids = [(await client!.status()).pid, ...programs.map(parentOf), ...programs];
	for (const pid of pids) process.kill(pid, "SIGKILL");
	for (const pid of pids) await gone(pid);
}

const parentOf = (pid: number): number => Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);

/** Its daemon, which finds another boot id than the kernel's: in mounts of its own, where the caller is one from elsewhere. */
function bootAnew(home: Home): Promise<SocketClient> {
	const file = join(home.path, "boot_id");
	writeFileSync(file, `${randomUUID()}\n`);
	const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"';
	return home.connect({ command: ["unshare", "-m", "sh", "-c", script, file, process.execPath, DAEMON] });
}

/** What a list says of a session in one word, and in the words that a model reads. */
async function saidOf(client: Client, name: string): Promise<{ readonly word: string; readonly line: string }> {
	const { facts, text } = await client.call("list", {});
	const listed = facts.sessions.find((session) => session.name === name);
	const line = text.split("\n").find((one) => one.startsWith(`[${name}]`)) ?? "";
	const word = listed === undefined ? "missing" : listed.unreachableSince === undefined ? listed.status : "unreachable";
	return { word, line };
}

test(
	"issue 15: after another boot the other hosts say of its sessions what it says, and until then that it is unreachable",
	needing("mounts", ...BROKER_NEEDS),
	async () => {
		await using hosts = await TwoHosts.start({ policy: { elsewhere: "allow" } });
		const { beta, client } = hosts;
		await called(client, "start", { host: "beta", name: "kept", argv: ["cat"], ...patient });
		await called(client, "send", { session: "beta/kept", text: "before", submit: true, ...patient });
		await called(client, "start", { host: "beta", name: "done", argv: ["sh", "-c", "exit 3"], ...patient });
		await until("both are listed as they are", async () => {
			const [kept, done] = [await saidOf(client, "beta/kept"), await saidOf(client, "beta/done")];
			return kept.word === "running" && done.word === "failed";
		});

		// Each different thing that the list says of it, in the order in which it says so.
		const words: string[] = [];
		const look = async () => {
			const { word, line } = await saidOf(client, "beta/kept");
			if (words.at(-1) !== word) words.push(word);
			if (word === "unreachable") expect(line).toMatch(/^\[beta\/kept\] unreachable for \d+ s, was/);
			return word;
		};
		await cutPower(beta);
		await until("its lease has ended", async () => (await look()) === "unreachable");
		expect(await codeOf(called(client, "read", { session: "beta/kept" }))).toBe("host_unreachable");
		expect((await saidOf(client, "beta/done")).word).toBe("failed"); // how it ended stays true

		let isUp = false;
		const booted = bootAnew(beta).finally(() => {
			isUp = true;
		});
		while (!isUp) await look();
		await using owner = await booted;
		await until("its owner has spoken", async () => (await look()) !== "unreachable");
		const own = await saidOf(owner, "kept");
		expect(own.word).toBe("stream_lost");
		expect(words).toEqual(["running", "unreachable", own.word]);
		expect((await saidOf(client, "beta/kept")).line).toContain("stream lost");
		expect((await saidOf(client, "beta/done")).word).toBe("failed");

		// What it had printed is in its log, and what is typed is refused as by its owner.
		const printed = await called(client, "read", { session: "beta/kept", view: "screen" });
		expect((printed.facts as { text: string }).text.trim()).toBe("before\nbefore");
		const typed = { text: "after", submit: true };
		const refusals = [
			await codeOf(called(owner, "send", { session: "kept", ...typed })),
			await codeOf(called(client, "send", { session: "beta/kept", ...typed })),
		];
		expect(refusals).toEqual(["session_ended", "session_ended"]);
		const again = await called(client, "start", { host: "beta", name: "next", argv: ["cat"], ...patient });
		expect(again.facts).toMatchObject({ name: "beta/next", activity: "waiting" });
	},
);
