// `dialtone serve`: joins the daemon, started if need be, has it open HTTP, and in the foreground stays until
// Ctrl+C. It is never the daemon itself, so it replaces none; when the daemon is replaced or
// killed, it joins the next one.

import { join } from "node:path";
import type { SocketClient } from "./daemon/socket-client.ts";
import { portOf, type TlsPlace } from "./daemon/wire.ts";
import type { Tokens } from "./http/tokens.ts";
import { Fault } from "./protocol/fault.ts";
import type { Places } from "./pty/places.ts";
import { makePrivate } from "./pty/private-directory.ts";
import { distinctNames } from "./session/identity.ts";
import { VERSION } from "./version.ts";

const WELCOME_TOKEN = "npm-start";

export interface ServeHttpOptions {
	readonly where: Places;
	readonly connect: () => Promise<SocketClient>;
	readonly port: number;
	/** Refuse where HTTP is open on another port. */
	readonly exact: boolean;
	/** For other machines; without it, on loopback. */
	readonly tls?: TlsPlace;
	readonly say: (text: string) => void;
}

/** Has the daemon serve HTTP for as long as it runs; returns the exit code. */
export async function serveInBackground({ where, connect, port, exact, tls, say }: ServeHttpOptions): Promise<number> {
	await using client = await connect();
	const url = await client.http({ port, exact, keep: "pin", ...(tls !== undefined && { tls }) });
	const { link } = await loginLink(where, url);
	say(`Dialtone is listening on ${url}\nOpen the page, once: ${link}\n`);
	return 0;
}

/** A link that logs one browser in as the person. */
export async function loginLink(where: Places, url: string): Promise<{ link: string; expiresAt: number }> {
	const { code, expiresAt } = (await tokensIn(where)).createLink({ role: "admin" });
	return { link: `${url}/login?code=${code}`, expiresAt };
}

/** A link that shows one browser one session. */
export async function shareLink(
	where: Places,
	url: string,
	session: { readonly id: string; readonly name: string; readonly minutes: number },
): Promise<{ id: string; link: string; expiresAt: number }> {
	const { sharedLink } = await import("./http/shared-link.ts");
	return sharedLink(await tokensIn(where), { url, ...session });
}

async function tokensIn(where: Places): Promise<Tokens> {
	makePrivate(where.state);
	const { Tokens } = await import("./http/tokens.ts");
	return new Tokens(join(where.state, "tokens.json"));
}

/** Has the daemon serve HTTP until Ctrl+C; returns the exit code. */
export async function serveInForeground(options: ServeHttpOptions): Promise<number> {
	const { where, say, tls } = options;
	const over = new AbortController();
	for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => over.abort());
	let { port, exact } = options;
	let url = "";
	for (;;) {
		await using client = await options.connect();
		const opened = async (address: string) => {
			say(url === "" ? await welcome(where, address) : `Joined the next daemon: ${address}\n`);
			url = address;
			[port, exact] = [portOf(address), true];
		};
		const wish = { port, exact, ...(tls !== undefined && { tls }), signal: over.signal, onOpen: opened };
		const why = await client.holdHttp(wish).catch((error: unknown) => {
			if (error instanceof Fault && error.code === "daemon_replaced") return "replaced"; // killed
			throw error;
		});
		if (why === "replaced") continue;
		if (why === "stopped") say("\nThe daemon was stopped.\n");
		else {
			const names = await runningNames(client);
			const left = names.length === 0 ? "No sessions are running" : `These sessions keep running: ${names.join(", ")}`;
			say(`\nStopped serving. ${left}.\n`);
		}
		return 0;
	}
}

async function runningNames(client: SocketClient): Promise<readonly string[]> {
	const { facts } = await client.call("list", { status: "running" });
	const here = facts.sessions.filter(({ host }) => host === undefined);
	return distinctNames(here.map(({ session: id, name, owner }) => ({ id, name, owner })));
}

/** What a person needs to know, readable at a glance. The token is new each time: only its hash is kept. */
async function welcome(where: Places, url: string): Promise<string> {
	const tokens = await tokensIn(where);
	tokens.revoke(WELCOME_TOKEN);
	const { token } = tokens.create({ name: WELCOME_TOKEN, role: "drive" });
	const { link } = await loginLink(where, url);
	const main = join(import.meta.dirname, "main.js");
	const isElsewhere = process.env.DIALTONE_HOME !== undefined;
	const home = isElsewhere ? `DIALTONE_HOME=${where.state} ` : "";
	const env = isElsewhere ? `, "env": { "DIALTONE_HOME": ${JSON.stringify(where.state)} }` : "";
	return `
  Dialtone ${VERSION} is listening.

    Page    ${link}
            (good for 10 minutes, once; \`dialtone web\` prints another)
    HTTP    ${url}/v1   (MCP at ${url}/mcp)
    Log in  export TOKEN=${token}
            curl -H "Authorization: Bearer $TOKEN" ${url}/v1/sessions

  For an agent, paste into its MCP configuration:

    { "mcpServers": { "dialtone": { "command": "node", "args": [${JSON.stringify(main)}, "mcp"]${env} } } }

  Try it from another shell:

    ${home}node ${main} start --name py python3
    ${home}node ${main} send py "6*7"

  Ctrl+C stops serving; sessions keep running.

`;
}
