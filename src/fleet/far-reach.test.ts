import { describe, expect, test } from "vitest";
import { Fault } from "../protocol/fault.ts";
import type { Scope } from "../session/scope.ts";
import { type FarCall, farReachOf, knownTo, mustBeWithin, toldTo } from "./far-reach.ts";

const known = { isKnown: (host: string) => host === "beta", names: () => ["alpha", "beta"] };
const reachOf = (scope?: Scope) => farReachOf({ owner: "me", cwd: "/", env: {}, ...(scope && { scope }) });
const call = (more: Partial<FarCall>): FarCall => ({
	host: "beta",
	tool: "read",
	input: { session: "abc" },
	fields: ["session", "view"],
	...more,
});
const codeOf = (scope: Scope | undefined, more: Partial<FarCall>): string => {
	try {
		mustBeWithin(reachOf(scope), call(more));
		return "done";
	} catch (error) {
		return (error as Fault).code;
	}
};

describe("issue 15: a token of this machine, on another host", () => {
	test("is not limited here where it is for all or for one owner: that its host can enforce", () => {
		for (const scope of [undefined, { owner: "mcp:a" }]) {
			expect(codeOf(scope, { tool: "send", input: { session: "any" } })).toBe("done");
			expect([...knownTo(reachOf(scope), known).names()]).toEqual(["alpha", "beta"]);
		}
	});

	test.each([{ session: "abc" }, { parent: "p" }, { owner: "mcp:*" }])(
		"for %j reaches nothing, and knows of no host",
		(scope) => {
			expect(codeOf(scope, {})).toBe("not_allowed");
			const { isKnown, names } = knownTo(reachOf(scope), known);
			expect([isKnown("beta"), isKnown("none"), [...names()]]).toEqual([true, true, []]);
		},
	);

	test("for one session there only looks at that one, whatever else the input names", () => {
		const scope = { session: "beta/abc" };
		expect(codeOf(scope, {})).toBe("done");
		expect(codeOf(scope, { tool: "wait" })).toBe("done");
		for (const tool of ["send", "close", "signal", "start", "run", "list", "pty_capture", "write_stdin"])
			expect([tool, codeOf(scope, { tool })]).toEqual([tool, "not_allowed"]);
		const others = [{ host: "gamma" }, { input: { session: "abd" } }, { input: {} }, { input: "abc" }, { input: null }];
		for (const other of others) expect([other, codeOf(scope, other)]).toEqual([other, "not_allowed"]);
		for (const field of ["session_id", "sessionId", "terminal_id", "id", "name"])
			expect([field, codeOf(scope, { input: { session: "abc", [field]: "abd" } })]).toEqual([field, "bad_input"]);
	});

	test("for one session is refused without what else there is", () => {
		const fault = new Fault("session_not_found", {
			id: "beta/abc",
			open: ["beta/elsewhere"],
			ids: ["beta/abd"],
			others: [{ id: "beta/abe", owner: "somebody" }],
		});
		const told = toldTo(reachOf({ session: "beta/abc" }), fault) as Fault;
		expect(told.code).toBe("session_not_found");
		expect(JSON.stringify(told.toJSON())).not.toMatch(/elsewhere|abd|abe|somebody/);
		expect(toldTo(reachOf(), fault)).toBe(fault);
		const unknown = new Fault("unknown_host", { host: "beta", hosts: ["alpha"] });
		expect(JSON.stringify((toldTo(reachOf({ session: "beta/abc" }), unknown) as Fault).toJSON())).not.toContain(
			"alpha",
		);
	});
});
