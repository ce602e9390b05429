// tmux as agents use it: send-keys, then capture-pane every 100 ms until the screen looks done.

import { execFile } from "node:child_process";
import { setTimeout as after } from "node:timers/promises";
import { promisify } from "node:util";
import type { Caller, Program } from "./caller.ts";

const POLL_MS = 100;
const GIVE_UP = 5000 / POLL_MS;

/** Whether the newest capture means "your turn", given the one before. */
type Done = (screen: string, before: string | null, program: Program) => boolean;

const rules = {
	"tmux, screen stable for two polls": (screen, before) => screen === before,
	// capture-pane cuts the blanks at the end of a row.
	"tmux, prompt pattern": (screen, _, { pattern }) =>
		new RegExp(`${pattern.trimEnd()}$`).test(screen.trimEnd().split("\n").at(-1)!.trimEnd()),
} satisfies Record<string, Done>;

export function tmuxCallers(directory: string): Caller[] {
	const socket = `${directory}/tmux`;
	const tmux = async (...args: string[]) =>
		(await promisify(execFile)("tmux", ["-S", socket, "-f", "/dev/null", ...args])).stdout;
	// tmux takes a semicolon at the end of an argument for the end of its command.
	const literal = (text: string) => text.replace(/;$/, "\\;");
	let opened = 0;
	return Object.entries(rules).map(([name, done]: [string, Done]) => ({
		name,
		polls: true,
		open: async (program, argv) => {
			const target = `s${++opened}`;
			await tmux("new-session", "-d", "-s", target, "-x", "120", "-y", "40", ...argv);
			return {
				turn: async (text) => {
					await tmux("send-keys", "-t", target, "-l", "--", literal(text), ";", "send-keys", "-t", target, "Enter");
					let before: string | null = null;
					for (let polls = 0; polls < GIVE_UP; polls++) {
						await after(POLL_MS);
						const screen = await tmux("capture-pane", "-p", "-t", target);
						if (done(screen, before, program)) return process.hrtime.bigint();
						before = screen;
					}
					return null;
				},
			};
		},
		[Symbol.asyncDispose]: async () => {
			// The first of the two to go takes the server with it.
			await tmux("kill-server").catch(() => "");
		},
	}));
}
