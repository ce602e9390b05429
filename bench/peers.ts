// Other people's terminals, for comparison; installed on first use.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const directory = join(import.meta.dirname, "peers");

interface NodePty {
	readonly pid: number;
	onData(listener: (text: string | Buffer) => void): { dispose(): void };
	onExit(listener: (exit: { exitCode: number }) => void): { dispose(): void };
	write(text: string): void;
	kill(signal?: string): void;
}
type Spawn = (program: string, args: readonly string[], options: object) => NodePty;

/** node-pty's spawn; null where it cannot be built. */
export function nodePty(): Spawn | null {
	try {
		if (!existsSync(join(directory, "node_modules/node-pty"))) {
			console.log("installing node-pty to compare with …");
			execFileSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"], {
				cwd: directory,
				stdio: ["ignore", "ignore", "inherit"],
			});
		}
		return createRequire(join(directory, "package.json"))("node-pty").spawn as Spawn;
	} catch (error) {
		console.log(`without node-pty: ${(error as Error).message.split("\n")[0]}`);
		return null;
	}
}
