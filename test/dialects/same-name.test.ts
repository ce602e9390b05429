// D3: two sets have a `write_stdin`. What a model was offered says which one it means, whatever it writes.

import { describe, expect, test } from "vitest";
import { WAYS } from "./ways.ts";

const mcp = WAYS.MCP!;

describe("D3 `write_stdin`", () => {
	test.each([12, "12", "nobody", undefined])(
		"of the exec set answers %j in the shape of that set",
		async (session_id) => {
			await using exec = await mcp("exec");
			const answer = await exec.call("write_stdin", { session_id, chars: "x" });
			expect(answer).toMatchObject({ success: false, output: "", running: false, error: { code: expect.any(String) } });
			expect(JSON.stringify(answer)).not.toContain("exec_command");
		},
	);

	test.each([1234, "nobody", undefined])("of Codex' set answers %j in the words of that set", async (session_id) => {
		await using codex = await mcp("codex");
		const answer = await codex.text("write_stdin", { session_id, chars: "x" });
		expect(answer).toMatch(/^(?:session_not_found|bad_input): /);
		expect(answer).not.toMatch(/unified_exec|"success"/);
	});

	test("of both sets together, is that whose session it is", async () => {
		await using both = await mcp("exec,codex" as "exec");
		expect(await both.call("write_stdin", { session_id: "nobody" })).toMatchObject({ success: false });
		expect(await both.text("write_stdin", { session_id: 1234 })).toMatch(/^session_not_found: /);
	});
});
