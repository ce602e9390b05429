// A PTY for one program, for recording and for trying it: python has one built in. The
// room under test needs no process of its own, so it does not depend on the project's PTY.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

const BRIDGE = `
import fcntl, os, pty, select, struct, sys, termios
cols, rows = int(sys.argv[1]), int(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[3], sys.argv[3:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
while True:
    ready, _, _ = select.select([fd, 0], [], [])
    if fd in ready:
        try: data = os.read(fd, 65536)
        except OSError: break
        if not data: break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if not data: break
        os.write(fd, data)
os.close(fd)
try: os.kill(pid, 9)
except OSError: pass
os.waitpid(pid, 0)
`;

export interface BridgeOptions {
	readonly cols: number;
	readonly rows: number;
	readonly cwd: string;
	readonly env?: Record<string, string>;
}

/** What it prints is on stdout, what is typed goes to stdin; the end of stdin ends the program. */
export function startBridged(
	argv: readonly string[],
	{ cols, rows, cwd, env }: BridgeOptions,
): ChildProcessByStdio<Writable, Readable, null> {
	return spawn("python3", ["-c", BRIDGE, String(cols), String(rows), ...argv], {
		cwd,
		env: { PATH: process.env.PATH, TERM: "xterm-256color", LANG: "C.UTF-8", ...env },
		stdio: ["pipe", "pipe", "inherit"],
	});
}
