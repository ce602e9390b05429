// The commands for the installation: daemon, server, tokens, MCP.

import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput } from "./flags.ts";
import { toolSets } from "./session-commands.ts";
import { table } from "./table.ts";

const unknown = (what: string, given: string | undefined) => badInput(`there is no \`${what} ${given}\``);

export async function daemon(invocation: Invocation): Promise<number> {
	const { words, flags, json, io, dependencies } = invocation;
	switch (words[0]) {
		case "status": {
			const status = await dependencies.daemon.status();
			if (status === null) {
				io.out(json ? `${JSON.stringify({ running: false })}\n` : "No daemon is running; the first call starts one.\n");
				return EXIT.noDaemon;
			}
			if (json) io.out(`${JSON.stringify({ running: true, ...status })}\n`);
			else
				io.out(
					`Dialtone ${status.version}, process ${status.pid}, since ${new Date(status.startedAt).toISOString()}\n` +
						`Sessions: ${status.sessions} running\nSocket: ${status.socket}\nHTTP: ${status.http ?? "off"}\n`,
				);
			return EXIT.ok;
		}
		case "stop": {
			const stopped = await dependencies.daemon.stop({ sessions: flags.on("sessions") });
			if (json) io.out(`${JSON.stringify({ stopped: stopped !== null, ...stopped })}\n`);
			else if (stopped === null) io.out("No daemon was running.\n");
			else io.out(`Stopped (process ${stopped.pid}). ${stillRunning(stopped.left)}\n`);
			return EXIT.ok;
		}
		case "restart": {
			const status = await dependencies.daemon.restart();
			io.out(
				json
					? `${JSON.stringify({ running: true, ...status })}\n`
					: `Dialtone ${status.version} runs as process ${status.pid}; ${status.sessions} sessions kept running.\nHTTP: ${status.http ?? "off"}\n`,
			);
			return EXIT.ok;
		}
		case "run":
			return dependencies.daemon.run();
		default:
			throw unknown("daemon", words[0]);
	}
}

function stillRunning(left: readonly string[]): string {
	if (left.length === 0) return "No sessions are running.";
	const names = left.length > 8 ? `${left.slice(0, 8).join(", ")} and ${left.length - 8} more` : left.join(", ");
	return `These sessions keep running: ${names}.`;
}

// 0x4454 is "DT"; 17492 is below the ephemeral range and not assigned.
export const DEFAULT_PORT = 0x4454;

export async function serve({ flags, io, dependencies }: Invocation): Promise<number> {
	const chosen =
		flags.number("port") ?? (io.env.DIALTONE_PORT === undefined ? undefined : Number(io.env.DIALTONE_PORT));
	const port = chosen ?? DEFAULT_PORT;
	if (!Number.isInteger(port) || port < 0 || port > 65535) throw badInput("the port is a number from 0 to 65535");
	const exact = chosen !== undefined;
	return dependencies.serve({ foreground: flags.on("foreground"), port, exact, say: (text) => io.out(text) });
}

export async function mcp({ flags, dependencies }: Invocation): Promise<number> {
	return dependencies.mcp({ sets: toolSets(flags) });
}

export async function token(invocation: Invocation): Promise<number> {
	const { words, flags, json, io } = invocation;
	const tokens = await invocation.dependencies.tokens();
	const [word, name] = words;
	switch (word) {
		case "create": {
			const made = tokens.create({ name: name ?? "token", readOnly: flags.on("read-only") });
			// Only the token goes to stdout, so that `TOKEN=$(dialtone token create ci)` works.
			io.out(json ? `${JSON.stringify(made)}\n` : `${made.token}\n`);
			if (!json && io.stdout.isTTY) io.err("Shown once; only its hash is kept.\n");
			return EXIT.ok;
		}
		case "list": {
			const all = tokens.list();
			if (json) io.out(`${JSON.stringify({ tokens: all })}\n`);
			else if (all.length === 0) io.err("No tokens. Create one: dialtone token create NAME\n");
			else
				io.out(
					table([
						["ID", "NAME", "MAY", "CREATED"],
						...all.map(({ id, name, readOnly, createdAt }) => [
							id,
							name,
							readOnly ? "read" : "read and type",
							new Date(createdAt).toISOString(),
						]),
					]),
				);
			return EXIT.ok;
		}
		case "revoke": {
			if (name === undefined) throw badInput("give the token's id or name");
			const ids = tokens.revoke(name);
			if (ids.length === 0) throw badInput(`there is no token "${name}"`);
			const all = ids.length > 1 ? ` (${ids.length} tokens: ${ids.join(", ")})` : "";
			io.out(json ? `${JSON.stringify({ revoked: name, ids })}\n` : `Revoked ${name}${all}.\n`);
			return EXIT.ok;
		}
		default:
			throw unknown("token", word);
	}
}
