// Ways out, tried one by one. Each is also tried outside of the sandbox, where it must succeed if that is harmless: a test
// that could not fail would show nothing.

import { type ChildProcess, spawn } from "node:child_process";
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launch } from "../../src/pty/launch.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { Received } from "../pty/stage.ts";
import { Box, USERS, type User } from "./box.ts";

interface Attempt {
	/** A line of shell that succeeds when it got out. */
	readonly line: string;
	/** Who gets out by it where there is no sandbox. `nobody`: harmful to try, or another guard stops it. */
	readonly outside: "everybody" | "root" | "nobody";
}

const everybody = (line: string): Attempt => ({ line, outside: "everybody" });
const root = (line: string): Attempt => ({ line, outside: "root" });
const nobody = (line: string): Attempt => ({ line, outside: "nobody" });
const py = (name: string, value = "") => `python3 "$WORKSPACE/calls.py" ${name} ${value}`;

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
	"a file outside": everybody('cat "$OUTSIDE/secret"'),
	"a symbolic link to it": everybody('ln -s "$OUTSIDE" "$WORKSPACE/link" && cat "$WORKSPACE/link/secret"'),
	"a hard link to it": everybody('ln "$OUTSIDE/secret" "$WORKSPACE/hard" && cat "$WORKSPACE/hard"'),
	"a parent's parent": everybody('cat "$WORKSPACE/../outside/secret"'),
	"/proc/self/root": everybody('cat "/proc/self/root$OUTSIDE/secret"'),
	"/proc/1/root": nobody('cat "/proc/1/root$OUTSIDE/secret"'), // process 1 of this machine may have another root
	"/proc/1/cwd": nobody('cat "/proc/1/cwd$OUTSIDE/secret"'),
	"/proc/PID/root of a process outside": everybody('cat "/proc/$VICTIM/root$OUTSIDE/secret"'),
	"a credential in the home": everybody('cat "$HOME/.ssh/id_test"'),
	"password hashes": root("grep -q root /etc/shadow"),
	"the state directory": everybody('ls "$STATE/sessions" || ls "$STATE"'),
	"the socket of a holder": everybody(py("unix", '"$SOCKET"')),
	"a socket of the desktop (X11, D-Bus, an agent)": everybody(py("unix", '"$OUTSIDE/desktop.sock"')),
	"variables that lead to agents and displays": everybody(
		'test -n "$SSH_AUTH_SOCK$DBUS_SESSION_BUS_ADDRESS$DISPLAY$XAUTHORITY$WAYLAND_DISPLAY$DOCKER_HOST$XDG_RUNTIME_DIR$GPG_AGENT_INFO"',
	),
	"an abstract socket": everybody(py("abstract", '"$ABSTRACT"')),
	"TCP by address": everybody(py("tcp", '"$PORT"')),
	"TCP over IPv6": everybody(py("tcp6", '"$PORT6"')),
	"TCP by name": everybody(py("name", '"$PORT"')),
	"a raw socket": root(py("raw")),
	"a packet socket": root(py("packet")),
	"a socket to the kernel's cryptography": nobody(py("alg")),
	"a socket to the hypervisor": nobody(py("vsock")),
	"ptrace of a process outside": nobody(py("ptrace", '"$VICTIM"')),
	"the memory of a process outside": everybody(py("vm", '"$VICTIM"')),
	"the environment of a process outside": everybody('cat "/proc/$VICTIM/environ"'),
	"a signal to a process outside": everybody('kill -0 "$VICTIM"'),
	"a user namespace": everybody("unshare -Ur true"),
	"a user namespace by system call": everybody(py("userns")),
	"a user namespace by clone": everybody(py("clone-userns")),
	"clone3, whose flags no filter sees": everybody(py("clone3")),
	"a mount in namespaces of its own": everybody("unshare -Urm mount -t tmpfs none /mnt"),
	mount: root(py("mount")),
	"the newer way to mount": root(py("fsopen")),
	"making the system writable": nobody("mount -o remount,rw /usr || mount -o remount,rw /etc"),
	"the namespaces of a process outside": root('nsenter -t "$VICTIM" -m cat "$OUTSIDE/secret"'),
	TIOCSTI: root(py("tiocsti")),
	"TIOCSTI with other bits above the 32 that count": root(py("tiocsti-64")),
	TIOCLINUX: everybody(py("tioclinux")),
	TIOCSETD: everybody(py("tiocsetd")),
	core_pattern: root(py("core_pattern")),
	"a device node": root('mknod "$WORKSPACE/node" c 1 1 && rm "$WORKSPACE/node"'),
	"memory and disks in /dev": nobody("find /dev -type b | grep -q . || ls /dev/mem /dev/kmsg /dev/kvm"),
	"/sys": everybody("ls /sys/kernel"),
	cgroups: everybody("ls /sys/fs/cgroup"),
	"a capability over the files of others": root('touch "$WORKSPACE/owned" && chown 12345 "$WORKSPACE/owned"'),
	"a set-uid file left behind": everybody('cp /usr/bin/id "$WORKSPACE/left" && chmod 4755 "$WORKSPACE/left"'),
	"a set-gid file left behind": everybody('cp /usr/bin/id "$WORKSPACE/group" && chmod 2755 "$WORKSPACE/group"'),
	"a set-uid file made by open": everybody(py("suid-open", '"$WORKSPACE/made"')),
	"the keyring": everybody(py("key")),
	io_uring: nobody(py("io_uring")),
	open_by_handle_at: root(py("handle")),
	bpf: root(py("bpf")),
	perf_event_open: root(py("perf")),
	"the other numbering of system calls": nobody(py("foreign")),
	"writing to the system": nobody("touch /usr/escaped || touch /etc/escaped || touch /escaped"),
	"the container engine's socket": nobody("ls /var/run/docker.sock || ls /run/docker.sock"),
	"a descriptor that was left open": nobody('test "$(ls /proc/self/fd | wc -l)" -gt 4'), // ls itself has one
};

const listening = (where: Parameters<Server["listen"]>[0]) =>
	new Promise<Server>((resolve, reject) => {
		const server = createServer((socket) => socket.on("error", () => {}).end());
		server.once("error", reject).listen(where, () => resolve(server));
	});
const portOf = (server: Server) => String((server.address() as { port: number }).port);

describe.each(USERS)("R4.9 G7 out of a sandbox, as %s", (user: User) => {
	let box: Box;
	let victim: ChildProcess;
	const servers: Server[] = [];
	const results = { inside: new Map<string, boolean>(), outside: new Map<string, boolean>() };

	beforeAll(async () => {
		box = await Box.open(user);
		copyFileSync(join(import.meta.dirname, "calls.py"), join(box.workspace, "calls.py"));
		victim = spawn("sleep", ["600"], { uid: box.uid, gid: box.uid, stdio: "ignore" });
		const abstract = `dialtone-${process.pid}-${box.uid}`;
		servers.push(
			await listening({ host: "127.0.0.1", port: 0 }),
			await listening({ host: "::1", port: 0 }),
			await listening({ path: `\0${abstract}` }),
			await listening({ path: join(box.outside, "desktop.sock"), writableAll: true, readableAll: true }),
		);
		const sleeper = await box.start("sleep 600", null);
		const env = {
			WORKSPACE: box.workspace,
			OUTSIDE: box.outside,
			STATE: box.state,
			SOCKET: sleeper.spec.socketPath,
			ABSTRACT: abstract,
			PORT: portOf(servers[0]!),
			PORT6: portOf(servers[1]!),
			VICTIM: String(victim.pid),
			...Object.fromEntries(
				"SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS DISPLAY XAUTHORITY WAYLAND_DISPLAY DOCKER_HOST XDG_RUNTIME_DIR GPG_AGENT_INFO"
					.split(" ")
					.map((name) => [name, "set"]),
			),
		};
		const tried = Object.entries(ATTEMPTS).map(([, { line }], i) => ({ i, line }));
		const script = (only: (i: number) => boolean) =>
			tried
				.filter(({ i }) => only(i))
				.map(({ i, line }) => `if (${line}) >/dev/null 2>&1; then echo "@${i} out"; else echo "@${i} held"; fi`)
				.join("\n");
		const names = Object.keys(ATTEMPTS);
		for (const where of ["inside", "outside"] as const) {
			const file = join(box.workspace, `${where}.sh`);
			const harmless = (i: number) => where === "inside" || ATTEMPTS[names[i]!]!.outside !== "nobody";
			writeFileSync(file, script(harmless));
		}
		for (const where of ["inside", "outside"] as const) {
			const { said } = await box.run(["sh", join(box.workspace, `${where}.sh`)], where === "inside" ? {} : null, {
				env,
			});
			for (const [, i, how] of said.matchAll(/@(\d+) (out|held)/g))
				results[where].set(names[Number(i)]!, how === "out");
			if (where === "inside") await box.run("rm -f link hard left group made owned node", null);
		}
	}, 240_000);

	afterAll(async () => {
		victim?.kill("SIGKILL");
		for (const server of servers) server.close();
		await box?.[Symbol.asyncDispose]();
	});

	test.each(Object.entries(ATTEMPTS))("%s", (name, { outside }) => {
		expect(results.inside.get(name)).toBe(false);
		if (outside === "everybody" || (outside === "root" && user === "root"))
			expect(results.outside.get(name), "tried outside, to see that it can succeed").toBe(true);
	});

	test("killing everything reaches nothing outside", async () => {
		const { exit } = await box.run("kill -KILL -1; exit 7");
		expect(exit.code).toBe(7);
		expect(victim.exitCode ?? victim.signalCode).toBe(null);
	});

	describe("what in /etc is not for everybody cannot be read", () => {
		const files = "find /etc -not -type l -not -perm -o=r -exec head -c 1 {} +";
		const directories = "find /etc -type d -not -perm -o=rx -exec ls -A {} +";
		const line = `(${files}; ${directories}) 2>/dev/null | tr -cd '[:print:]' | wc -c; grep -c ^root: /etc/passwd`;
		const nothing = "0\n1\n";

		test("whoever the program runs as", async () => {
			expect((await box.run(line)).said).toBe(nothing);
			if (user === "root")
				expect((await box.run(line, null)).said, "outside, to see that there is some").not.toBe(nothing);
		});

		// As on a file system that has no ID-mapped mounts: bwrap covers file by file.
		test.runIf(user === "root")("nor by a root that may not mount", async () => {
			const spec = await box.confined(await box.spec(["sh", "-c", line]), {});
			const argv = ["setpriv", "--bounding-set=-sys_admin", spec.program!, ...spec.argv.slice(1)];
			await using pty = await launch({ ...spec, program: "/usr/bin/setpriv", argv });
			const received = new Received(pty);
			await received.exited;
			expect(received.text.replaceAll("\r", "")).toBe(nothing);
		});
	});

	test("the start files of the user are not those that a program writes", async () => {
		const line = 'echo evil >> "$HOME/.bashrc" && echo evil > "$HOME/.profile" && cat "$HOME/.bashrc"';
		const { said } = await box.run(line);
		expect(said).toBe("evil\n");
		expect(readFileSync(join(box.home, ".bashrc"), "utf8")).toBe("# the user's own\n");
		expect(existsSync(join(box.home, ".profile"))).toBe(false);
	});

	test("what may only be read below the workspace is neither written, moved, nor replaced with its parents", async () => {
		const kept = join(box.workspace, "sub/deep/.git");
		mkdirSync(kept, { recursive: true });
		writeFileSync(join(kept, "config"), "the user's own\n");
		for (const path of ["sub", "sub/deep", "sub/deep/.git", "sub/deep/.git/config"])
			box.give(join(box.workspace, path));
		const tries = [
			"echo evil > sub/deep/.git/config",
			"mv sub/deep/.git sub/deep/git",
			"mv sub/deep sub/other",
			"mv sub other",
			"rm -r sub/deep",
		];
		const line = `${tries.map((one) => `{ ${one}; } 2>/dev/null && echo "did: ${one}"`).join("; ")}; echo mine > sub/mine; cat sub/mine`;
		expect((await box.run(line, { ro: [kept] })).said).toBe("mine\n");
		expect(readFileSync(join(kept, "config"), "utf8")).toBe("the user's own\n");
		expect((await box.run("mv sub other && echo moved")).said, "without it, to see that it can succeed").toBe(
			"moved\n",
		);
		rmSync(join(box.workspace, "other"), { recursive: true });
	});

	test("the end that is told is the program's own, whatever it writes to process 1", async () => {
		const ended = "import struct; open('/proc/1/fd/4', 'wb', 0).write(struct.pack('<iii200siB3x', 2, 0, 0, b'', 0, 0))";
		const tries = [`python3 -c "${ended}"`, "echo AAAA > /proc/1/fd/4", py("ptrace", "1")];
		const { exit, said } = await box.run(
			`${tries.map((one) => `{ ${one}; } 2>/dev/null && echo did`).join("; ")}; sleep 0.3; exit 7`,
		);
		expect({ said, code: exit.code }).toEqual({ said: "", code: 7 });
	});

	test("a workspace that becomes a link after it was checked is not entered", async () => {
		const spec = await box.confined(await box.spec(["sh", "-c", "cat secret"]), {});
		renameSync(box.workspace, `${box.workspace}.was`);
		symlinkSync(box.outside, box.workspace);
		try {
			await expect(launch(spec)).rejects.toMatchObject({
				stage: "sandbox",
				message: expect.stringMatching(/changed while/),
			});
		} finally {
			rmSync(box.workspace);
			renameSync(`${box.workspace}.was`, box.workspace);
		}
	});

	test("a library of LD_PRELOAD runs within, never in what makes the sandbox", needing("gcc"), async () => {
		const source = join(box.workspace, "evil.c");
		const out = box.give(join(box.outside, "."));
		writeFileSync(
			source,
			`#include <fcntl.h>\n__attribute__((constructor)) void go(void) { open("${out}/ran", O_CREAT | O_WRONLY, 0600); }\n`,
		);
		const built = spawn("gcc", ["-shared", "-fPIC", "-o", join(box.workspace, "evil.so"), source], { stdio: "ignore" });
		await until("the library is built", () => built.exitCode === 0);
		const env = { LD_PRELOAD: join(box.workspace, "evil.so") };
		await box.run("true", {}, { env });
		expect(existsSync(join(out, "ran"))).toBe(false);
		await box.run("true", null, { env });
		expect(existsSync(join(out, "ran"))).toBe(true);
	});
});
