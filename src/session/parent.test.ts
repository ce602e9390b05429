import { describe, expect, test } from "vitest";
import { parentFromEnvironment, parentFromHeader, parentFromMeta } from "./parent.ts";

describe("S21 which conversation a call belongs to", () => {
	test("what the hosts export, ours before theirs", () => {
		expect(parentFromEnvironment({ CLAUDE_CODE_SESSION_ID: "0199-a" })).toBe("0199-a");
		expect(parentFromEnvironment({ CODEX_THREAD_ID: "thr_1" })).toBe("thr_1");
		expect(parentFromEnvironment({ CODEX_THREAD_ID: "thr_1", DIALTONE_PARENT: "mine" })).toBe("mine");
		expect(parentFromEnvironment({ HOME: "/root", CLAUDECODE: "1" })).toBeUndefined();
	});

	test("what the hosts send with a call", () => {
		expect(parentFromMeta({ "x-codex-turn-metadata": { session_id: "s", turn_id: "t" } })).toBe("s");
		expect(parentFromMeta({ "x-codex-turn-metadata": '{"thread_id":"th","session_id":"s"}' })).toBe("th");
		expect(parentFromMeta({ "vscode.conversationId": "dc30885e" })).toBe("dc30885e");
		for (const meta of [undefined, {}, { progressToken: 3 }, { "x-codex-turn-metadata": "{" }]) {
			expect(parentFromMeta(meta)).toBeUndefined();
		}
	});

	test("what no host would send is not taken", () => {
		for (const value of ["", "a b", "\u001b[2J", "x".repeat(201), "ü"]) {
			expect(parentFromHeader(value)).toBeUndefined();
		}
		expect(parentFromHeader("conversation-7")).toBe("conversation-7");
	});
});
