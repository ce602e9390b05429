import { describe, expect, test } from "vitest";
import type { Fault } from "../protocol/fault.ts";
import { numberOnHost } from "../tools/host-names.ts";
import { aimOf, hostOfNewName, mayAimElsewhere } from "./aim.ts";
import { sessionKey, splitKey, splitReference } from "./session-names.ts";

const HOSTS = ["alpha", "beta-2"];
const known = { isKnown: (host: string) => HOSTS.includes(host), names: () => HOSTS };
const aim = (tool: string, input: unknown) => aimOf({ tool, input }, known);
const codeOf = (act: () => unknown): string | null => {
	try {
		act();
		return null;
	} catch (error) {
		return (error as Fault).code;
	}
};

describe("a call is for", () => {
	test.each([
		["read", { session: "beta-2/py" }, "beta-2", { session: "py" }],
		["read", { session: " [beta-2/py] " }, "beta-2", { session: "py" }],
		["read", { session: "py", host: "Alpha" }, "alpha", { session: "py" }],
		["read", { session_id: "alpha/py" }, "alpha", { session_id: "py" }],
		["read", '{"session": "alpha/py"}', "alpha", { session: "py" }],
		["start", { command: "x", name: "alpha/new" }, "alpha", { command: "x", name: "new" }],
		["start", { again: "alpha/old" }, "alpha", { again: "old" }],
		["run", { command: "ls alpha/x", shell: "beta-2/main" }, "beta-2", { command: "ls alpha/x", shell: "main" }],
		["pty_capture", { terminal_id: "alpha/1" }, "alpha", { terminal_id: "1" }],
		["get_process_output", { process_id: "alpha/bg_001" }, "alpha", { process_id: "bg_001" }],
		["send", { session: "x", text: "alpha/x" }, null, { session: "x", text: "alpha/x" }],
		["read", { session: "gamma/py" }, null, { session: "gamma/py" }],
		["read", { session: "/py" }, null, { session: "/py" }],
		["read", { session: "alpha/" }, null, { session: "alpha/" }],
		["no_such_tool", { session: "alpha/x" }, null, { session: "alpha/x" }],
	])("%s %j: %s", (tool, input, host, left) => {
		const found = aim(tool, input);
		expect(found.host).toBe(host);
		expect(found.input).toEqual(left);
	});

	test("the host in a number, which is no number of a session of one's own", () => {
		const number = numberOnHost({ onHost: "beta-2" }, 1000);
		expect(Number.isSafeInteger(number)).toBe(true);
		expect(aim("write_stdin", { session_id: number, chars: "" })).toMatchObject({
			host: "beta-2",
			input: { session_id: 1000 },
		});
		expect(aim("write_stdin", { session_id: 1000, chars: "" }).host).toBeNull();
	});

	test("where it is to be placed", () => {
		expect(aim("start", { command: "x", placement: "least-loaded" })).toEqual({
			host: null,
			placement: "least-loaded",
			input: { command: "x" },
		});
		expect(aim("start", { placement: '{"labels": {"gpu": "a"}}' }).placement).toEqual({ labels: { gpu: "a" } });
	});

	test("nothing where it contradicts itself", () => {
		expect(codeOf(() => aim("read", { session: "alpha/x", host: "beta-2" }))).toBe("bad_input");
		expect(codeOf(() => aim("start", { host: "alpha", placement: "least-loaded" }))).toBe("bad_input");
		expect(codeOf(() => aim("start", { placement: "somewhere" }))).toBe("bad_input");
		expect(codeOf(() => aim("read", { session: "x", host: "gamma" }))).toBe("unknown_host");
	});
});

test.each([
	["run", { command: "ls a/b", shell: "gamma/main" }, "gamma"],
	["start", { command: "x", name: "Gamma/new" }, "gamma"],
	["start", { command: "a/b", again: "gamma/old" }, null],
	["run", { command: "ls a/b" }, null],
	["run", { command: "ls", shell: "main" }, null],
	["read", { session: "gamma/x" }, null],
])("the host in what something is to be called, known or not: %s %j: %s", (tool, input, host) => {
	expect(hostOfNewName({ tool, input })).toBe(host);
});

test.each([{ toString: 1 }, [1], null, true, Symbol("x"), 7n])(
	"a session that is neither text nor number is none of another host: %s",
	(session) => {
		expect(mayAimElsewhere({ tool: "read", input: { session } })).toBe(false);
		expect(aimOf({ tool: "read", input: { session } }, { isKnown: () => true, names: () => ["alpha"] }).host).toBe(
			null,
		);
	},
);

test("keys have an owner's name in one token, whatever is in it", () => {
	expect(splitKey(sessionKey("alpha", "mcp:a.b", "id1"))).toEqual({
		host: "alpha",
		rest: "mcp=3Aa=2Eb.id1",
		id: "id1",
	});
	expect(splitReference("a/b/c", () => true)).toEqual({ host: "a", session: "b/c" });
});
