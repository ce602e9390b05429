// `dialtone serve`: joins the daemon, started if need be, has it open HTTP, and in the foreground stays until
// Ctrl+C. It is never the daemon itself, so it replaces none; when the daemon is replaced or
// killed, it joins the next one.

import { join } from "node:path";
import type { SocketClient } from "./daemon/socket-client.ts";
import { Fault } from "./protocol/fault.ts";
import type { Places } from "./pty/places.ts";
import { VERSION } from "./version.ts";

const WELCOME_TOKEN = "npm-start";

export interface ServeHttpOptions {
	readonly where: Places;
	readonly connect: () => Promise<SocketClient>;
	readonly port: number;
	/** Refuse where HTTP is open on another port. */
	readonly exact: boolean;
	readonly say: (text: string) => void;
}

/** Has the daemon serve HTTP for as long as it runs; returns the exit code. */
export async function serveInBackground({ connect, port, exact, say }: ServeHttpOptions): Promise<number> {
	await using client = await connect();
	say(`Dialtone is listening on ${await client.http({ port, exact, keep: "pin" })}\n`);
	return 0;
}

/** Has the daemon serve HTTP until Ctrl+C; returns the exit code. */
export async function serveInForeground(options: ServeHttpOptions): Promise<number> {
	const { where, say } = options;
	const over = new AbortController();
	for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => over.abort());
	let { port, exact } = options;
	let url = "";
	for (;;) {
		await using client = await options.connect();
		const opened = async (address: string) => {
			say(url === "" ? await welcome(where, address) : `Joined the next daemon: ${address}\n`);
			url = address;
			[port, exact] = [Number(new URL(address).port), true];
		};
		const why = await client.holdHttp({ port, exact, signal: over.signal, onOpen: opened }).catch((error: unknown) => {
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
	return facts.sessions.map(({ name }) => name);
}

/** What a person needs to know, readable at a glance. The token is new each time: only its hash is kept. */
async function welcome(where: Places, url: string): Promise<string> {
	const { Tokens } = await import("./http/tokens.ts");
	const tokens = new Tokens(join(where.state, "tokens.json"));
	tokens.revoke(WELCOME_TOKEN);
	const { token } = tokens.create({ name: WELCOME_TOKEN, readOnly: false });
	const main = join(import.meta.dirname, "main.js");
	const home = process.env.DIALTONE_HOME === undefined ? "" : `DIALTONE_HOME=${where.state} `;
	return `
  Dialtone ${VERSION} is listening.

    HTTP    ${url}/v1   (MCP at ${url}/mcp)
    Log in  export TOKEN=${token}
            curl -H "Authorization: Bearer $TOKEN" ${url}/v1/sessions

  For an agent, paste into its MCP configuration:

    { "mcpServers": { "dialtone": { "command": "node", "args": [${JSON.stringify(main)}, "mcp"] } } }

  Try it from another shell:

    ${home}node ${main} start --name py python3
    ${home}node ${main} send py "6*7"

  Ctrl+C stops serving; sessions keep running.

`;
}
