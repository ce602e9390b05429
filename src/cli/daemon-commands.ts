// The commands for the installation: daemon, server, tokens, MCP.

import { resolve } from "node:path";
import type { Scope } from "../session/scope.ts";
import type { Role } from "../tools/client.ts";
import type { Invocation, Io, ListedToken, ServeOptions } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput, type Flags } from "./flags.ts";
import { toolSets } from "./session-commands.ts";
import { look } from "./session-named.ts";
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
						`Sessions: ${status.sessions} running\nSocket: ${status.socket}\nHTTP: ${status.http ?? "off"}\n${status.auditProblem === undefined ? "" : `Audit log: ${status.auditProblem}\n`}`,
				);
			return EXIT.ok;
		}
		case "stop": {
			const stopped = await dependencies.daemon.stop({ sessions: flags.on("sessions") });
			if (json) io.out(`${JSON.stringify({ stopped: stopped !== null, ...stopped })}\n`);
			else if (stopped === null) io.out("No daemon was running.\n");
			else io.out(`Stopped (process ${stopped.pid}). ${stillRunning(stopped.left)}\n`);
			// They were to be ended.
			return flags.on("sessions") && stopped !== null && stopped.left.length > 0 ? EXIT.busy : EXIT.ok;
		}
		case "restart": {
			const status = await dependencies.daemon.restart();
			io.out(
				json
					? `${JSON.stringify({ running: true, ...status })}\n`
					: `Dialtone ${status.version} runs as process ${status.pid}; ${status.sessions} session${status.sessions === 1 ? "" : "s"} kept running.\nHTTP: ${status.http ?? "off"}\n`,
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
	const { port, exact } = portIn(flags, io);
	const tls = tlsIn(flags);
	const wish = { port, exact, ...(tls !== undefined && { tls }), say: (text: string) => io.out(text) };
	return dependencies.serve({ foreground: flags.on("foreground"), ...wish });
}

/** Where to serve beyond this machine: only all of it together. */
function tlsIn(flags: Flags): ServeOptions["tls"] {
	const [host, cert, key] = [flags.string("host"), flags.string("tls-cert"), flags.string("tls-key")];
	const names = flags.list("name");
	if (host === undefined && cert === undefined && key === undefined && names.length === 0) return undefined;
	if (host === undefined || cert === undefined || key === undefined)
		throw badInput("HTTP for other machines needs --host, --tls-cert and --tls-key; without --host it is for this one");
	return { host, names, cert: resolve(cert), key: resolve(key) };
}

/** Which port to serve HTTP on; `exact` where it was chosen. */
export function portIn(flags: Flags, io: Io): { port: number; exact: boolean } {
	const chosen =
		flags.number("port") ?? (io.env.DIALTONE_PORT === undefined ? undefined : Number(io.env.DIALTONE_PORT));
	const port = chosen ?? DEFAULT_PORT;
	if (!Number.isInteger(port) || port < 0 || port > 65535) throw badInput("the port is a number from 0 to 65535");
	return { port, exact: chosen !== undefined };
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
			const expiresAt = expiryIn(flags);
			const role = roleIn(flags);
			const made = tokens.create({ name: name ?? "token", role, expiresAt, scope: await scopeIn(invocation) });
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
						["ID", "NAME", "ROLE", "FOR", "CREATED", "EXPIRES"],
						...all.map((one) => [
							one.id,
							one.name,
							one.link ? `${one.role} (unused link)` : one.role,
							reachOf(one),
							new Date(one.createdAt).toISOString(),
							one.expiresAt === null ? "never" : new Date(one.expiresAt).toISOString(),
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

const reachOf = ({ scope }: ListedToken) =>
	scope === null
		? "all sessions"
		: Object.entries(scope)
				.map(([kind, value]) => `${kind} ${value}`)
				.join();

function roleIn(flags: Flags): Role {
	const given = flags.string("role") as Role | undefined;
	if (given !== undefined && flags.on("read-only")) throw badInput("give --role or --read-only, not both");
	return given ?? (flags.on("read-only") ? "view" : "drive");
}

/** A session is kept by its id: its name may mean another one tomorrow. */
async function scopeIn(invocation: Invocation): Promise<Scope | null> {
	const { flags, dependencies } = invocation;
	const [session, owner, parent] = [flags.string("session"), flags.string("owner"), flags.string("parent")];
	if ([session, owner, parent].filter((one) => one !== undefined).length > 1)
		throw badInput("give one of --session, --owner and --parent");
	if ([session, owner, parent].includes("")) throw badInput("--session, --owner and --parent take a value");
	if (owner !== undefined) return { owner };
	if (parent !== undefined) return { parent };
	if (session === undefined) return null;
	await using client = await dependencies.connect();
	return { session: (await look(invocation, client, session)).session };
}

/** When it ends; null where it does not. */
function expiryIn(flags: Flags): number | null {
	const ms = flags.number("expires");
	return ms === undefined ? null : Date.now() + ms;
}
