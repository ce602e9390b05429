// What to paste where: the configuration of the common hosts, for `dialtone mcp --help`
// and for what `npm start` prints.

import { shellWords } from "../protocol/command-words.ts";

export interface HostEntry {
	readonly command: string;
	readonly args: readonly string[];
}

const json = (value: unknown) => JSON.stringify(value, null, 2);

interface Host {
	readonly name: string;
	readonly where: string;
	readonly show: (entry: HostEntry) => string;
}

/** For a shell: a path may hold a space. */
const words = ({ command, args }: HostEntry) => shellWords([command, ...args]);
const toml = (value: unknown) => JSON.stringify(value).replaceAll(",", ", ");

/** The format that most hosts adopted from Claude Desktop. */
const mcpServers = ({ command, args }: HostEntry) => json({ mcpServers: { dialtone: { command, args } } });

export const HOSTS: readonly Host[] = [
	{ name: "Claude Code", where: "run", show: (entry) => `claude mcp add --scope user dialtone -- ${words(entry)}` },
	{
		name: "Codex",
		where: "~/.codex/config.toml (or: codex mcp add dialtone -- …)",
		show: ({ command, args }) =>
			`[mcp_servers.dialtone]\ncommand = ${toml(command)}\nargs = ${toml(args)}\ntool_timeout_sec = 300`,
	},
	{ name: "Claude Desktop", where: "claude_desktop_config.json", show: mcpServers },
	{ name: "Cursor", where: "~/.cursor/mcp.json", show: mcpServers },
	{ name: "Gemini CLI", where: "~/.gemini/settings.json", show: mcpServers },
	{ name: "Windsurf", where: "~/.codeium/windsurf/mcp_config.json", show: mcpServers },
	{
		name: "VS Code",
		where: ".vscode/mcp.json",
		show: ({ command, args }) => json({ servers: { dialtone: { type: "stdio", command, args } } }),
	},
	{
		name: "Zed",
		where: "settings.json",
		show: ({ command, args }) => json({ context_servers: { dialtone: { command, args } } }),
	},
	{
		name: "opencode",
		where: "opencode.json",
		show: ({ command, args }) => json({ mcp: { dialtone: { type: "local", command: [command, ...args] } } }),
	},
];

export function hostsHelp(entry: HostEntry): string {
	// Hosts that take the same text in another file share one block.
	const blocks = new Map<string, Host[]>();
	for (const host of HOSTS) {
		const shown = host.show(entry);
		blocks.set(shown, [...(blocks.get(shown) ?? []), host]);
	}
	const parts = [...blocks].map(([shown, hosts]) => {
		const title = hosts.map(({ name, where }) => `${name} (${where})`).join(", ");
		return `${title}\n${shown.replace(/^/gm, "    ")}`;
	});
	return `${parts.join("\n\n")}\n
Add "--tools", "exec" (or codex, pty, terminal; several with commas) to the arguments for the tools of other systems.
Over HTTP: start \`dialtone serve\` and use http://127.0.0.1:PORT/mcp with the header "Authorization: Bearer TOKEN".\n`;
}
