import { startMariadb } from "../../servers/mariadb.ts";
import { startPostgres } from "../../servers/postgres.ts";
import { startRedis } from "../../servers/redis.ts";
import { type Case, program } from "../case.ts";

export const cases: Case[] = [
	program(
		"sqlite3",
		["sqlite3", ":memory:"],
		[
			{ truth: "key", shows: /sqlite> $/ },
			{ line: "select 6*7;", truth: "key", shows: /42\nsqlite> $/ },
			{ line: "select 1,", truth: "key", shows: /\.\.\.> $/ },
			{ line: "2;", truth: "key", shows: /1\|2\nsqlite> $/ },
			{
				line: "with recursive t(x) as (select 1 union all select x+1 from t where x<100000000) select count(*) from t;",
				truth: "busy",
			},
			{ keys: ["ctrl+c"], truth: "key", shows: /sqlite> $/ },
		],
	),
	program(
		"psql",
		async ({ share }) => ["psql", "-X", ...(await share("postgres", startPostgres)).arguments],
		[
			{ truth: "key", shows: /=# $/ },
			{ line: "select 6*7;", truth: "key", shows: /42[\s\S]*=# $/ },
			{ line: "select 1,", truth: "key", shows: /-# $/ },
			{ line: "2;", truth: "key", shows: /=# $/ },
			{ line: "select pg_sleep(1.5);", truth: "busy", forMs: 900 },
			{ truth: "key", shows: /pg_sleep[\s\S]*=# $/ },
			{ line: "\\password", truth: "secret", shows: /Enter new password/ },
			{ keys: ["ctrl+c"], truth: "key" },
			{ line: "select generate_series(1,200);", truth: "key", shows: /More|:$/ },
			{ text: "q", truth: "key", shows: /=# $/ },
		],
		{ needs: ["psql", "initdb", "postgres"], user: "root", env: { PAGER: "less" } },
	),
	program(
		"mariadb",
		async ({ share }) => ["mariadb", ...(await share("mariadb", startMariadb)).arguments],
		[
			{ truth: "key", shows: /> $/ },
			{ line: "select 6*7;", truth: "key", shows: /42[\s\S]*> $/ },
			{ line: "select sleep(1.5);", truth: "busy", forMs: 900 },
			{ truth: "key", shows: /sleep[\s\S]*> $/ },
		],
		{ needs: ["mariadb", "mariadbd", "mariadb-install-db"], user: "root" },
	),
	program(
		"redis-cli",
		async ({ share }) => ["redis-cli", ...(await share("redis", startRedis)).arguments],
		[
			{ truth: "key", shows: /> $/ },
			{ line: "incr x", truth: "key", shows: /integer[\s\S]*> $/ },
			{ line: "blpop nothing 2", truth: "busy", forMs: 1200 },
			{ truth: "key", shows: /nil[\s\S]*> $/ },
			{ line: "subscribe news", truth: "busy", forMs: 900 },
		],
		{ needs: ["redis-cli", "redis-server"] },
	),
];
