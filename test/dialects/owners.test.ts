// What a set numbers belongs to the caller that opened it.

import { expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";

async function twoAgents() {
	const dialtone = await Dialtone.open({ owner: "first" });
	const { env } = process;
	const agent = (owner: string) => {
		const caller = { owner, cwd: "/", env: { PATH: env.PATH ?? "" } };
		return async (tool: string, input: object) =>
			(await dialtone.client.call(tool, input, { caller })).facts as Record<string, unknown>;
	};
	return { dialtone, first: agent("first"), second: agent("second") };
}

test("R5.2 D6: background processes are numbered for each agent, and another's cannot be read or stopped", async () => {
	const { dialtone, first, second } = await twoAgents();
	await using _ = dialtone;
	const start = { command: "echo $OWNER; exec sleep 600" };
	expect(await first("start_background_process", { ...start, env: { OWNER: "first" } })).toEqual({
		process_id: "bg_001",
		status: "started",
	});
	await expect(second("get_process_output", { process_id: "bg_001" })).rejects.toMatchObject({
		code: "session_not_found",
		next: "No process is open: call `start_background_process`.",
	});
	await expect(second("stop_background_process", { process_id: "bg_001" })).rejects.toMatchObject({
		code: "session_not_found",
	});
	expect(await second("start_background_process", { ...start, env: { OWNER: "second" } })).toEqual({
		process_id: "bg_001",
		status: "started",
	});
	expect(await second("stop_background_process", { process_id: "bg_001" })).toEqual({
		process_id: "bg_001",
		status: "stopped",
	});
	expect(await second("get_process_output", { process_id: "bg_001" })).toMatchObject({
		output: "second",
		is_running: false,
	});
	expect(await first("get_process_output", { process_id: "bg_001" })).toMatchObject({ is_running: true });
	expect(await first("start_background_process", start)).toMatchObject({ process_id: "bg_002" });
	await expect(first("get_process_output", { process_id: "bg_009" })).rejects.toMatchObject({
		next: expect.stringMatching(/^Open processes: bg_00[12], bg_00[12]\.$/),
	});
});

test("D6: Codex' session numbers are each agent's own, too", async () => {
	const { dialtone, first, second } = await twoAgents();
	await using _ = dialtone;
	const ask = { cmd: "read x; echo got $x", shell: "/bin/bash", login: false };
	expect(await first("exec_command", ask)).toMatchObject({ session_id: 1000 });
	await expect(second("write_stdin", { session_id: 1000, chars: "theirs\n" })).rejects.toMatchObject({
		code: "session_not_found",
	});
	expect(await second("exec_command", ask)).toMatchObject({ session_id: 1000 });
	const answer = async (agent: typeof first, chars: string) =>
		(await agent("write_stdin", { session_id: 1000, chars, yield_time_ms: 20_000 })).output;
	expect(await answer(first, "one\n")).toContain("got one");
	expect(await answer(second, "two\n")).toContain("got two");
});
