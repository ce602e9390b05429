import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callerHere } from "./caller.ts";
import { asInherited } from "./session/inheriting.ts";

const KEY = "sk-of-this-process";
const before = { ...process.env };

beforeEach(() => {
	Object.assign(process.env, { MY_API_KEY: KEY, DATABASE_URL: "postgres://here" });
});
afterEach(() => {
	for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
});

describe("D5: the caller filters its environment before anything is sent", () => {
	test("what goes over the wire has no credential in it, only its name", () => {
		const sent = JSON.stringify(callerHere("me"));
		expect(sent).not.toContain(KEY);
		expect(sent).toContain("postgres://here");
		expect(callerHere("me").withheld).toContain("MY_API_KEY");
	});

	test("a call that inherits all carries it, one that inherits none carries neither", () => {
		const caller = callerHere("me");
		expect(asInherited(caller, "all").env).toMatchObject({ MY_API_KEY: KEY });
		expect(asInherited(caller, "none").env).not.toHaveProperty("DATABASE_URL");
		expect(asInherited(caller, undefined)).toMatchObject({ env: { DATABASE_URL: "postgres://here" } });
	});

	test("the options widen and narrow the default", () => {
		Object.assign(process.env, { DIALTONE_PASS: "MY_API_*", DIALTONE_WITHHOLD: "DATABASE_URL" });
		expect(callerHere("me").env).toMatchObject({ MY_API_KEY: KEY });
		expect(callerHere("me").env).not.toHaveProperty("DATABASE_URL");
		process.env.DIALTONE_INHERIT = "none";
		expect(Object.keys(callerHere("me").env)).not.toContain("VITEST");
	});
});
