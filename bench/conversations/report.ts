// docs/conversations.md: the table, and the rules by which it was made.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { VERSION } from "../../src/version.ts";
import { WAYS, type Way } from "./agents.ts";
import type { Conversation } from "./conversation.ts";
import type { Played } from "./play.ts";

export type Row = { readonly conversation: Conversation } & Readonly<Record<Way, Played>>;

const OTHERS = ["tmux", "pexpect"] as const satisfies readonly Way[];

/** Tokens of the cheaper of the others that achieved the task, against ours. */
const ratio = (row: Row): number => Math.min(...OTHERS.map((way) => tokensOf(row[way]))) / row.ours.tokens;
/** A way that did not achieve the task is no measure of what the task costs. */
const tokensOf = ({ achieved, tokens }: Played): number => (achieved ? tokens : Number.POSITIVE_INFINITY);
const isCheapest = (row: Row): boolean => row.ours.achieved && ratio(row) > 1;
const hasFewestCalls = (row: Row): boolean =>
	row.ours.achieved && OTHERS.every((way) => !row[way].achieved || row[way].calls >= row.ours.calls);

const each = (row: Row, of: (played: Played) => string | number): string => WAYS.map((way) => of(row[way])).join(" / ");

export function rowOf(row: Row): string {
	const { name, task } = row.conversation;
	const times = ratio(row);
	const cells = [
		name,
		task,
		each(row, ({ calls }) => calls),
		each(row, ({ tokens }) => tokens),
		Number.isFinite(times) ? `${times.toFixed(2)}${times > 1 ? "" : " **lost**"}` : "–",
		each(row, ({ achieved }) => (achieved ? "yes" : "no")),
	];
	return `| ${cells.join(" | ")} |`;
}

export function report(rows: readonly Row[]): string {
	const total = (way: Way, of: (played: Played) => number) => rows.reduce((sum, row) => sum + of(row[way]), 0);
	const totals = (of: (played: Played) => number) =>
		WAYS.map((way) => total(way, of).toLocaleString("en-US")).join(" / ");
	const declared = WAYS.map((way) => rows[0]![way].declared.toLocaleString("en-US")).join(" / ");
	const slowest = Math.max(...rows.map(({ ours }) => ours.ms));
	return `# Conversations

Written by \`npm run bench -- conversations\`; do not edit. ${new Date().toISOString().slice(0, 10)}, ${versions()}.

${rows.length} tasks with real programs, as an agent would do them: with Dialtone's native tools, with tmux from a shell tool, with pexpect from a python tool.
**Dialtone has the fewest calls in ${rows.filter(hasFewestCalls).length} (no other way needs fewer), and the fewest tokens in ${rows.filter(isCheapest).length} of ${rows.length}.** (The goal is all, and 22.) It achieved ${achieved(rows, "ours")} tasks, tmux ${achieved(rows, "tmux")}, pexpect ${achieved(rows, "pexpect")}.

| program | task | calls | tokens | cheapest other ÷ ours | achieved |
| --- | --- | ---: | ---: | ---: | --- |
${rows.map(rowOf).join("\n")}
| all | | ${totals(({ calls }) => calls)} | ${totals(({ tokens }) => tokens)} | | |

Each column is Dialtone / tmux / pexpect. Of the tokens the model wrote ${totals(({ written }) => written)} and read ${totals(({ read }) => read)}.
Tool declarations and instructions, once a conversation and not in the table: ${declared}. The slowest conversation took Dialtone ${(slowest / 1000).toFixed(1)} s;
all of them ${WAYS.map((way) => `${(total(way, ({ ms }) => ms) / 1000).toFixed(0)} s`).join(" / ")}.

${notes(rows)}## Rules

- A conversation is a list of turns, the same for all three (\`bench/conversations/talks/\`). In a turn the agent does one thing and reads the answer; what it has to have
  read before it goes on is written beside it. A way that cannot do a turn in one call makes more. Outcomes are checked: by what is on disk, or by what was read.
- Tokens are o200k: of what the model writes (the tool's name and its arguments as JSON) and of what it reads (the result).
- Dialtone is the real MCP server on stdio, with its native tools, default budgets and terminals of 120 × 40.
- tmux gets all of new-session, send-keys, a fixed sleep and capture-pane as one call, with a sleep that an agent would choose (1 s; 2 or 3 where a program is known to be slow). Another
  call is counted only where that was not enough. Sessions have the size of ours: with tmux' default of 80 × 24 full-screen programs would be cheaper to read, and long lines cut.
- pexpect gets one call a turn in an interpreter that stays: \`sendline\`, \`expect\` of the prompt, \`print(c.before)\`. It knows the prompts of well-known programs in advance, and
  \`c.before\` does not show them: the least that can be read. Where a program's next question cannot be known, or it has the full screen, it sleeps a second and reads what has come,
  escape sequences included. Its terminal is 80 × 24, its default. A way that raises at a turn has not achieved its task.
- Agents may define helpers in Python or a script for tmux; then the model writes less and has to write and maintain the helper. None of the three does so here.
- What it does not measure: whether a model would choose these calls, and what mistakes cost. A prompt that does not come as expected costs pexpect its timeout (30 s) and a traceback;
  Dialtone and tmux show what came instead.
`;
}

const achieved = (rows: readonly Row[], way: Way): number => rows.filter((row) => row[way].achieved).length;

/** What did not go as it should, of all three, with nothing left out. */
function notes(rows: readonly Row[]): string {
	const lines = rows.flatMap((row) =>
		WAYS.flatMap((way) => {
			const { achieved, stuck, calls, turns } = row[way];
			const { name } = row.conversation;
			if (stuck !== null) return `- ${name}, ${way}: did not get beyond turn ${stuck.turn} of ${turns}.`;
			if (!achieved) return `- ${name}, ${way}: went through all turns, but the outcome is not the one asked for.`;
			return calls > turns
				? `- ${name}, ${way}: ${calls - turns} more ${calls - turns === 1 ? "look" : "looks"}, because the sleep was too short.`
				: [];
		}),
	);
	return lines.length === 0 ? "" : `## Where it took more, or failed\n\n${lines.join("\n")}\n\n`;
}

function versions(): string {
	const first = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: "utf8" }).trim();
	const pexpect = first("/usr/bin/python3", "-c", "import pexpect; print(pexpect.__version__)");
	const debian = readFileSync("/etc/debian_version", "utf8").trim();
	const node = process.versions.node;
	return `Dialtone ${VERSION}, ${first("tmux", "-V")}, pexpect ${pexpect}, Node ${node}, Debian ${debian}, ${cpus().length} cores, load ${loadavg()[1]!.toFixed(0)}`;
}
