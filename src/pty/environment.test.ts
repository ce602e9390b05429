import { describe, expect, test } from "vitest";
import { environment } from "./environment.ts";

describe("what a program sees of its caller's environment", () => {
	const caller = {
		PATH: "/mine",
		HOME: "/home/me",
		LC_ALL: "C.UTF-8",
		SSH_AUTH_SOCK: "/agent",
		VIRTUAL_ENV: "/venv",
		TERM: "dumb",
		ANTHROPIC_API_KEY: "sk-1",
		AWS_SECRET_ACCESS_KEY: "s",
		GITHUB_TOKEN: "t",
		DIALTONE_TOKEN: "d",
		LD_PRELOAD: "/evil.so",
		NODE_OPTIONS: "--inspect",
		UNSET: undefined,
	};

	test("the useful passes, the terminal is ours, keys do not pass", () => {
		expect(environment({ caller })).toEqual({
			PATH: "/mine",
			HOME: "/home/me",
			LC_ALL: "C.UTF-8",
			SSH_AUTH_SOCK: "/agent",
			VIRTUAL_ENV: "/venv",
			TERM: "xterm-256color",
			COLORTERM: "truecolor",
		});
	});

	test("explicit variables win, and can remove others", () => {
		const env = environment({ caller, explicit: { TERM: "vt100", GITHUB_TOKEN: "given", VIRTUAL_ENV: undefined } });
		expect(env).toMatchObject({ TERM: "vt100", GITHUB_TOKEN: "given" });
		expect(env).not.toHaveProperty("VIRTUAL_ENV");
	});

	test("the configuration can let more pass", () => {
		expect(environment({ caller, pass: ["NODE_OPTIONS"] })).toHaveProperty("NODE_OPTIONS", "--inspect");
	});

	test("a caller without a PATH still finds programs", () => {
		expect(environment({ caller: {} }).PATH).toContain("/usr/bin");
	});
});
