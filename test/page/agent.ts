// An agent that uses Dialtone over MCP, and keeps every answer that it got.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { RealServer } from "../http/real-server.ts";

interface ToolResult {
	readonly isError?: boolean;
	readonly content: readonly { readonly type: string; readonly text?: string }[];
	readonly _meta?: Readonly<Record<string, unknown>>;
}

/** What the client shows the person whom the agent asks by a link. */
interface LinkShown {
	readonly mode: string;
	readonly url: string;
	readonly message: string;
}

const COLUMNS = 120;
const WIDE = new RegExp(`.{${COLUMNS}}(?!$)`, "gm");

export class Agent implements AsyncDisposable {
	/** Everything that it was told, as it came. */
	readonly heard: string[] = [];
	readonly links: LinkShown[] = [];
	readonly #client: Client;

	private constructor(client: Client) {
		this.#client = client;
	}

	static async connect(server: RealServer, { showsLinks = false } = {}): Promise<Agent> {
		const client = new Client(
			{ name: "agent", version: "1" },
			{ capabilities: showsLinks ? { elicitation: { url: {} } } : {} },
		);
		const agent = new Agent(client);
		if (showsLinks)
			client.setRequestHandler("elicitation/create", async ({ params }) => {
				agent.links.push(params as LinkShown);
				return { action: "accept" };
			});
		const headers = { authorization: `Bearer ${server.token}` };
		await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }));
		return agent;
	}

	/** Its text; a refusal is thrown. */
	async call(tool: string, input: object): Promise<string> {
		const { isError, text } = await this.attempt(tool, input);
		if (isError) throw new Error(text);
		return text;
	}

	/** The same, with refusals: `fault` has the code and the facts. */
	async attempt(tool: string, input: object): Promise<{ isError: boolean; text: string; fault: unknown }> {
		const answer = (await this.#client.callTool({ name: tool, arguments: { ...input } })) as ToolResult;
		this.heard.push(JSON.stringify(answer));
		const text = answer.content.map((part) => part.text ?? "").join("\n");
		return { isError: answer.isError === true, text, fault: answer._meta?.["dialtone/fault"] };
	}

	/** The rows of a screen that is as wide as usual, trailing blanks and empty rows at the end aside. */
	async screen(session: string): Promise<readonly string[]> {
		const text = await this.call("read", { session, view: "screen", maxTokens: 20_000 });
		const [, , rows = ""] = /<<(\d+)\n([\s\S]*?)\n?\1(?:\n|$)/.exec(text) ?? [];
		// Rows that one long line fills are one line to a model.
		return shownRows(rows.replace(WIDE, "$&\n"));
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#client.close();
	}
}

/** Rows as they are compared: what is blank at the end of a row and below the last one is not text. */
export function shownRows(text: string): readonly string[] {
	return text
		.split("\n")
		.map((row) => row.trimEnd())
		.join("\n")
		.trimEnd()
		.split("\n");
}
