// Programs that pass the terminal on: to another terminal of this machine, or to the far end of a connection (A11).

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { SSHD_NEEDS, startSshd } from "../../servers/sshd.ts";
import { type Case, type Place, program, type Step } from "../case.ts";

const BASH = "bash --norc --noprofile";

/** A shell behind the relay: at its prompt, at work, interrupted, asking. */
const shellWithin: readonly Step[] = [
	{ truth: "command", shows: /[$#] / },
	{ line: "echo hi", truth: "command", shows: /\nhi\n/ },
	{ line: "sleep 30", truth: "busy", forMs: 1200 },
	{ keys: ["ctrl+c"], truth: "command" },
	{ line: "printf 'working... '; sleep 1.7; echo; echo done", truth: "busy", forMs: 1200, shows: /working\.\.\. / },
	{ truth: "command", shows: /\ndone\n/ },
	{ line: "read -p 'name? ' n; sleep 30", truth: "line", shows: /name\? / },
	{ line: "ann", truth: "busy", forMs: 1000 },
];

const tmux = ({ directory, defer }: Place, ...commands: readonly (readonly string[])[]) => {
	const server = ["-f", "/dev/null", "-S", `${directory}/tmux`];
	const env = { ...process.env, SHELL: "/bin/bash" };
	for (const command of commands) execFileSync("tmux", [...server, ...command], { env });
	// Its last session may have ended it already.
	defer(() => void spawnSync("tmux", [...server, "kill-server"]));
	return ["tmux", ...server, "attach"];
};

/** A shell at the far end of ssh, logged in. */
const logIn: readonly Step[] = [
	{ truth: "secret", shows: /password: $/ },
	{ line: "open-sesame-42", truth: "line", shows: /\$ $/ },
];
const ssh =
	(...command: readonly string[]) =>
	async ({ share }: Place) => [
		"ssh",
		"-t",
		"-o",
		"StrictHostKeyChecking=no",
		...(await share("sshd", startSshd)).arguments,
		...command,
	];
const overSsh: Partial<Case> = { needs: SSHD_NEEDS, user: "root" };

/** A mosh server of our own, for one client. */
function mosh({ defer }: Place): readonly string[] {
	const { stdout, stderr } = spawnSync("mosh-server", ["new", "-i", "127.0.0.1", "--", ...BASH.split(" ")], {
		encoding: "utf8",
		env: { ...process.env, LC_ALL: "C.UTF-8" },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const [, port, key] = /MOSH CONNECT (\d+) (\S+)/.exec(stdout) ?? [];
	const [, pid] = /detached, pid = (\d+)/.exec(stdout + stderr) ?? [];
	if (port === undefined || pid === undefined) throw new Error(`mosh-server said ${stdout}${stderr}`);
	defer(() => void spawnSync("kill", [pid])); // its shell may have ended it already
	return ["env", `MOSH_KEY=${key}`, "mosh-client", "127.0.0.1", port];
}

/** A shell at the far end of a bare connection. */
async function overTcp({ defer }: Place): Promise<readonly string[]> {
	const probe = createServer().listen(0, "127.0.0.1");
	await new Promise((resolve) => probe.once("listening", resolve));
	const { port } = probe.address() as { port: number };
	await new Promise((resolve) => probe.close(resolve));
	const shell = `EXEC:'${BASH} -i',pty,setsid,ctty,stderr,sane`;
	const server = spawn("socat", [`TCP-LISTEN:${port},bind=127.0.0.1`, shell], { stdio: "ignore" });
	defer(() => void server.kill());
	return ["socat", "-,raw,echo=0", `TCP:127.0.0.1:${port},retry=50,interval=0.1`];
}

export const cases: Case[] = [
	program("screen with a shell", ["screen", "-q", "-c", "/dev/null", "bash", "--norc", "--noprofile"], shellWithin),
	program("dtach", ({ directory }) => ["dtach", "-c", `${directory}/dtach`, ...BASH.split(" ")], shellWithin, {
		needs: ["dtach"],
	}),
	program("dvtm", ["dvtm", BASH], shellWithin),
	program("expect interact with a shell", ["expect", "-c", `spawn -noecho ${BASH}; interact`], shellWithin),
	program("python pty.spawn of a shell", ["python3", "-c", `import pty; pty.spawn('${BASH}'.split())`], shellWithin),
	program("socat to a shell", ["socat", "-,raw,echo=0", `EXEC:'${BASH} -i',pty,setsid,ctty,stderr,sane`], shellWithin),
	program("tmux with a shell", (place) => tmux(place, ["new", "-d", BASH]), shellWithin, { needs: ["tmux"] }),
	program(
		"tmux, a second pane at work",
		(place) => tmux(place, ["new", "-d", "sleep 60"], ["split-window", BASH]),
		shellWithin,
		{ needs: ["tmux"] },
	),
	program(
		"tmux, a second pane at its prompt",
		(place) => tmux(place, ["new", "-d", BASH], ["split-window", BASH]),
		shellWithin,
		{ needs: ["tmux"] },
	),
	program(
		"tmux, from pane to pane",
		(place) => tmux(place, ["new", "-d", BASH], ["split-window", BASH]),
		[
			{ truth: "command", shows: /[$#] / },
			{ line: "sleep 60", truth: "busy", forMs: 1000 },
			{ keys: ["ctrl+b", "o"], truth: "command" },
			{ line: "echo hi", truth: "command", shows: /\nhi\n/ },
			{ keys: ["ctrl+b", "o"], truth: "busy", forMs: 1000 },
		],
		{ needs: ["tmux"] },
	),
	program(
		"tmux, a second window at work",
		(place) => tmux(place, ["new", "-d", BASH], ["new-window", "-d", "sleep 60"]),
		shellWithin,
		{ needs: ["tmux"] },
	),
	program(
		"tmux in script",
		({ directory }) => ["script", "-q", "-c", `tmux -f /dev/null -S ${directory}/t new '${BASH}'`, "/dev/null"],
		shellWithin,
		{ needs: ["tmux"] },
	),
	program("unshare", ["unshare", "-m", "-p", "-f", "--mount-proc", ...BASH.split(" ")], shellWithin, {
		user: "root",
		needs: ["mounts"],
	}),
	program("chroot", ["chroot", "/", ...BASH.split(" ")], shellWithin, { user: "root" }),
	program("nsenter", ["sh", "-c", `exec nsenter -t $$ -u ${BASH}`], shellWithin, {
		user: "root",
		needs: ["mounts"],
	}),
	program(
		"ssh, work at the far end",
		ssh(),
		[
			...logIn,
			{ line: "printf 'working... '; sleep 1.7; echo; echo done", truth: "busy", forMs: 1200, shows: /working\.\.\. / },
			{ truth: "line", shows: /\ndone\n.*\$ $/ },
			{ line: "for i in 1 2 3 4 5 6; do printf .; sleep 0.5; done; echo", truth: "busy", forMs: 2000 },
			{ truth: "line", shows: /\.\.\.\.\.\.\n.*\$ $/ },
			{ line: "read -s -p 'PIN: ' n", truth: "secret", shows: /PIN: $/ },
			{ line: "1234", truth: "line", shows: /\$ $/ },
			{ line: "sleep 2", truth: "busy", forMs: 1000 },
			{ truth: "line", shows: /\$ $/ },
			{ line: "cat > /dev/null", truth: "busy", forMs: 300 },
			{ keys: ["ctrl+d"], truth: "line", shows: /\$ $/ },
		],
		overSsh,
	),
	program(
		"ssh, a far program that asks and works",
		ssh("read -p 'Continue? [y/N] ' n; printf 'Unpacking '; sleep 3; echo; sleep 30"),
		[
			logIn[0] as Step,
			{ line: "open-sesame-42", truth: "line", shows: /\[y\/N\] $/ },
			{ line: "y", truth: "busy", forMs: 1500, shows: /Unpacking / },
		],
		overSsh,
	),
	program(
		"ssh, a far full screen",
		ssh("top", "-d", "1"),
		[logIn[0] as Step, { line: "open-sesame-42", truth: "screen", shows: /PID/ }, { text: "q", truth: "ended" }],
		{ ...overSsh, needs: [...SSHD_NEEDS, "top"] },
	),
	program("mosh-client", mosh, shellWithin, { needs: ["mosh-server", "mosh-client"] }),
	program("socat over TCP to a shell", overTcp, shellWithin, { needs: ["socat"] }),
	program(
		"nvim :sleep",
		["nvim", "-u", "NONE", "-i", "NONE"],
		[
			{ truth: "screen" },
			{ line: ":sleep 2", truth: "busy", forMs: 1200 },
			{ truth: "screen" },
			{ line: ":q!", truth: "ended" },
		],
		{ known: "its main thread wakes up by itself at rest, too: nothing tells one from the other" },
	),
	program(
		"vim :terminal",
		["vim", "-u", "NONE", "-N", "-c", `terminal ++curwin ${BASH}`],
		[
			{ truth: "screen", shows: /[$#] / },
			{ line: "sleep 2; echo do''ne", truth: "busy", forMs: 1000 },
			{ truth: "screen", shows: /done/ },
		],
	),
];
