import { startPostgres } from "../../../test/servers/postgres.ts";
import {
	type Conversation,
	literal,
	pexpectLine,
	pexpectLook,
	pexpectStart,
	send,
	start,
	tmuxKeys,
	tmuxLine,
	tmuxPaste,
	tmuxStart,
} from "../conversation.ts";

const psql: Conversation = {
	name: "psql with a pager",
	task: "find the city of the number 317 in a long result",
	needs: ["psql", "postgres", "initdb", "less"],
	turns: async (scene) => {
		const server = await startPostgres();
		scene.defer(() => server[Symbol.asyncDispose]());
		const rows = "create table cities as select n, 'city-' || n * 7 as name from generate_series(1, 500) n;";
		scene.run("psql", ...server.arguments, "-qc", rows);
		const psql = `psql ${server.arguments.join(" ")}`;
		return [
			{
				shows: /postgres=#/,
				ours: start(psql),
				tmux: tmuxStart(psql),
				pexpect: pexpectStart(psql, "postgres=# "),
			},
			{
				shows: /city-7\b[\s\S]*:|city-7\b[\s\S]*More/,
				ours: send("psql", "table cities;"),
				tmux: tmuxLine("table cities;"),
				pexpect: "c.sendline('table cities;'); c.expect('\\n:|More'); print(c.before)",
			},
			{
				shows: /317 \| city-2219/,
				header: "full screen",
				ours: send("psql", "/317"),
				tmux: tmuxLine("/317"),
				pexpect: "c.sendline('/317'); c.expect('\\n:'); print(c.before)",
			},
			{
				shows: /postgres=#/,
				ours: ["send", { session: "psql", keys: ["q"] }],
				tmux: tmuxKeys("q"),
				pexpect: "c.send('q'); c.expect_exact('postgres=# '); print(c.before)",
			},
			{ shows: null, ours: send("psql", "\\q"), tmux: tmuxLine("\\q"), pexpect: pexpectLine("\\\\q", null) },
		];
	},
	achieved: (_, read) => read.includes("city-2219"),
};

const ITEMS = Array.from(
	{ length: 30 },
	(_, n) => `insert into items values (${n + 1}, 'item ${n + 1}', ${(n + 1) * 3});`,
);
const SQL = ["create table items (id integer, name text, price integer);", ...ITEMS].join("\n");

const sqlite: Conversation = {
	name: "sqlite3, a paste",
	task: "paste 31 lines of SQL and sum them up",
	needs: ["sqlite3"],
	turns: () => [
		{
			shows: /sqlite>/,
			ours: start("sqlite3 shop.db"),
			tmux: tmuxStart("sqlite3 shop.db"),
			pexpect: pexpectStart("sqlite3 shop.db", "sqlite> "),
		},
		{
			shows: /sqlite>/,
			ours: ["send", { session: "sqlite3", paste: SQL, submit: true }],
			tmux: tmuxPaste(SQL),
			pexpect: `c.sendline("""${SQL}"""); import time; ${pexpectLook()}`,
		},
		{
			shows: /30\|1395/,
			ours: send("sqlite3", "select count(*), sum(price) from items;"),
			tmux: tmuxLine("select count(*), sum(price) from items;"),
			pexpect: `c.sendline(${literal("select count(*), sum(price) from items;")}); c.expect_exact('sqlite> '); print(c.before)`,
		},
		{ shows: null, ours: send("sqlite3", ".quit"), tmux: tmuxLine(".quit"), pexpect: pexpectLine(".quit", null) },
	],
	achieved: (scene) => scene.run("sqlite3", "shop.db", "select sum(price) from items").trim() === "1395",
};

export const talks = [psql, sqlite];
