// Run as another user: tries everything that the first user's files, processes, sockets and ports offer, as listed on
// stdin, and prints what worked.

import * as fs from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const { files, processes, sockets, requests } = JSON.parse(await text(process.stdin));
const worked = [];

/** What an attempt gives is recorded; that it fails is what should happen. */
function attempt(what, act) {
	try {
		const result = act();
		worked.push(`${what}: ${String(result ?? "done").slice(0, 200)}`);
	} catch {
		// refused
	}
}

const own = fs.mkdtempSync(join(process.env.HOME, "loot-"));
for (const [i, path] of files.entries()) {
	attempt(`read ${path}`, () => fs.readFileSync(path));
	attempt(`list ${path}`, () => fs.readdirSync(path));
	attempt(`append to ${path}`, () => fs.appendFileSync(path, "x"));
	attempt(`plant in ${path}`, () => fs.writeFileSync(join(path, "planted"), "x"));
	attempt(`chmod ${path}`, () => fs.chmodSync(path, 0o777));
	attempt(`hard link ${path}`, () => fs.linkSync(path, join(own, String(i))));
	attempt(`rename ${path}`, () => fs.renameSync(path, `${path}.moved`));
	attempt(`remove ${path}`, () => fs.unlinkSync(path));
	attempt(`remove directory ${path}`, () => fs.rmdirSync(path));
}

for (const { pid, secrets } of processes) {
	for (const name of ["environ", "mem", "maps", "io", "syscall", "stack", "personality"])
		attempt(`/proc/${pid}/${name}`, () => fs.readFileSync(`/proc/${pid}/${name}`));
	for (const name of ["cwd", "root", "exe"])
		attempt(`/proc/${pid}/${name}`, () => fs.readlinkSync(`/proc/${pid}/${name}`));
	attempt(`/proc/${pid}/fd`, () => fs.readdirSync(`/proc/${pid}/fd`));
	// Everyone may read the arguments: so there must be no secret in them.
	attempt(`arguments of ${pid}`, () => {
		const found = secrets.find((secret) => fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(secret));
		if (found === undefined) throw new Error("nothing of interest");
		return found;
	});
	for (const signal of [0, "SIGTERM", "SIGSTOP", "SIGKILL", "SIGUSR1"])
		attempt(`signal ${signal} to ${pid}`, () => process.kill(pid, signal));
}

/** Sends the bytes; what comes back. */
function exchange(address, bytes) {
	return new Promise((resolve) => {
		let received = "";
		const socket = connect(address);
		socket.on("connect", () => socket.write(bytes));
		socket.on("data", (chunk) => {
			received += chunk.toString("latin1");
		});
		const give = () => {
			socket.destroy();
			resolve(received);
		};
		socket.on("error", give);
		socket.on("close", give);
		socket.on("end", give);
		socket.setTimeout(700, give);
		if (address.path !== undefined) socket.on("connect", () => worked.push(`connect to ${address.path}`));
	});
}

for (const path of sockets) await exchange({ path }, '{"id":1,"do":"status"}\n');

const answers = [];
for (const { port, request } of requests) {
	const received = await exchange({ host: "127.0.0.1", port }, request);
	answers.push({
		request: request.slice(0, 300),
		status: Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? 0),
		received: received.slice(0, 4000),
	});
}
fs.rmSync(own, { recursive: true, force: true });
console.log(JSON.stringify({ worked, answers }));
