// R2.4, T12: a session is known by what it was asked to run, not by the shell that runs it.

import { expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";

const LINE = "env A=1 sleep 600";

test.each([
	["start", { command: LINE, timeoutMs: 10 }, "sleep"],
	["unified_exec", { cmd: LINE }, "sleep"],
	["unified_exec", { cmd: LINE, shell: "/bin/sh", login: true }, "sleep"],
	["exec_command", { cmd: LINE, yield_time_ms: 250 }, "1000"],
	["pty_create", { cmd: LINE }, "sleep"],
	["start_background_process", { command: LINE }, "bg_001"],
])("%s %j", async (tool, input, name) => {
	await using dialtone = await Dialtone.open({ owner: "labels" });
	await dialtone.client.call(tool, input);
	const { facts, text } = await dialtone.client.call("list", {});
	expect(facts.sessions).toMatchObject([{ name, command: LINE }]);
	expect(text).toContain(LINE);
	const [terminal] = (await dialtone.client.call("pty_list", {})).facts as { cmd: string }[];
	expect(terminal).toMatchObject({ cmd: LINE });
});

test("S17: what is started again keeps its command line and the shell that ran it", async () => {
	await using dialtone = await Dialtone.open({ owner: "labels" });
	const { facts } = await dialtone.client.call("unified_exec", {
		cmd: "echo $0",
		shell: "/bin/sh",
		yield_time_ms: 20_000,
	});
	expect(facts).toMatchObject({ output: "/bin/sh", running: false });
	const again = (await dialtone.client.call("start", { again: facts.session_id! })).facts;
	expect(again).toMatchObject({ text: "/bin/sh", status: "succeeded" });
	const { sessions } = (await dialtone.client.call("list", {})).facts;
	expect(sessions.map(({ command }) => command)).toEqual(["echo $0", "echo $0"]);
});
