import { startMariadb } from "../../servers/mariadb.ts";
import { startPostgres } from "../../servers/postgres.ts";
import { startRedis } from "../../servers/redis.ts";
import { type Case, program } from "../case.ts";

export const cases: Case[] = [
	program(
		"sqlite3",
		["sqlite3", ":memory:"],
		[
			{ truth: "line", shows: /sqlite> $/ },
			{ line: "select 6*7;", truth: "line", shows: /42\nsqlite> $/ },
			{ line: "select 1,", truth: "line", shows: /\.\.\.> $/ },
			{ line: "2;", truth: "line", shows: /1\|2\nsqlite> $/ },
			{
				line: "with recursive t(x) as (select 1 union all select x+1 from t where x<100000000) select count(*) from t;",
				truth: "busy",
			},
			{ keys: ["ctrl+c"], truth: "line", shows: /sqlite> $/ },
		],
	),
	program(
		"psql",
		async ({ share }) => ["psql", "-X", ...(await share("postgres", startPostgres)).arguments],
		[
			{ truth: "line", shows: /=# $/ },
			{ line: "select 6*7;", truth: "line", shows: /42[\s\S]*=# $/ },
			{ line: "select 1,", truth: "line", shows: /-# $/ },
			{ line: "2;", truth: "line", shows: /=# $/ },
			{ line: "select pg_sleep(1.5);", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /pg_sleep[\s\S]*=# $/ },
			{ line: "\\password", truth: "secret", shows: /Enter new password/ },
			{ keys: ["ctrl+c"], truth: "line" },
			{ line: "select generate_series(1,200);", truth: "screen", shows: /More|:$/ },
			{ text: "q", truth: "line", shows: /=# $/ },
		],
		{ needs: ["psql", "initdb", "postgres"], user: "root", env: { PAGER: "less" } },
	),
	program(
		"mariadb",
		async ({ share }) => ["mariadb", ...(await share("mariadb", startMariadb)).arguments],
		[
			{ truth: "line", shows: /> $/ },
			{ line: "select 6*7;", truth: "line", shows: /42[\s\S]*> $/ },
			{ line: "select sleep(1.5);", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /sleep[\s\S]*> $/ },
		],
		{ needs: ["mariadb", "mariadbd", "mariadb-install-db"], user: "root" },
	),
	program(
		"redis-cli",
		async ({ share }) => ["redis-cli", ...(await share("redis", startRedis)).arguments],
		[
			{ truth: "line", shows: /> $/ },
			{ line: "incr x", truth: "line", shows: /integer[\s\S]*> $/ },
			{ line: "blpop nothing 2", truth: "busy", forMs: 1200 },
			{ truth: "line", shows: /nil[\s\S]*> $/ },
			{ line: "subscribe news", truth: "busy", forMs: 900 },
		],
		{ needs: ["redis-cli", "redis-server"] },
	),
];
