import { afterEach, expect, test, vi } from "vitest";
import { Fault } from "../protocol/fault.ts";
import type { Session } from "../session/session.ts";
import type { Sessions } from "../session/sessions.ts";
import { type RunRequest, runCommand } from "../session/shell/run.ts";
import { runIn } from "./shell-named.ts";

vi.mock("../session/shell/run.ts", () => ({ runCommand: vi.fn() }));
afterEach(() => void vi.mocked(runCommand).mockReset());

const session = { id: "1", name: "main" } as Session;
const sessions = {
	shellTurns: {},
	reread: async () => {},
	shells: () => [],
	list: () => [],
	start: async () => session,
};
const wanted = { sessions: sessions as unknown as Sessions, caller: { owner: "me", cwd: "/", env: {} } };
const run = () => runIn("main", wanted, { command: "make" } as RunRequest);
const ended = (more: object) => new Fault("session_ended", { id: "main", how: "just now", ...more });

test("a command that may have been typed into a shell that ended is not run again", async () => {
	vi.mocked(runCommand).mockRejectedValue(ended({ maybeTyped: true }));
	await expect(run()).rejects.toMatchObject({ code: "session_ended" });
	expect(runCommand).toHaveBeenCalledTimes(1);
});

test("a command that was not typed into a shell that had ended is run in a new one", async () => {
	vi.mocked(runCommand)
		.mockRejectedValueOnce(ended({}))
		.mockResolvedValueOnce({ exitCode: 0 } as never);
	expect(await run()).toMatchObject({ session, isNew: true, outcome: { exitCode: 0 } });
	expect(runCommand).toHaveBeenCalledTimes(2);
});
