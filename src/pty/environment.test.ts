import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { environment, inherited, WITHHELD } from "./environment.ts";

const caller = {
	PATH: "/mine",
	HOME: "/home/me",
	LC_ALL: "C.UTF-8",
	SSH_AUTH_SOCK: "/agent",
	VIRTUAL_ENV: "/venv",
	TERM: "dumb",
	COLUMNS: "80",
	TMUX: "/tmp/tmux-0/default,1,0",
	PWD: "/elsewhere",
	DATABASE_URL: "postgres://me:pw@host/db",
	NODE_ENV: "development",
	http_proxy: "http://proxy:3128",
	GOOGLE_APPLICATION_CREDENTIALS: "/home/me/key.json",
	AWS_REGION: "eu-west-1",
	TOKENIZERS_PARALLELISM: "false",
	KEYBOARD: "us",
	ANTHROPIC_API_KEY: "sk-1",
	ANTHROPIC_BASE_URL: "http://host",
	AWS_ACCESS_KEY_ID: "a",
	AWS_SECRET_ACCESS_KEY: "s",
	AWS_SESSION_TOKEN: "s",
	GITHUB_TOKEN: "t",
	"npm_config_//registry.example/:_authToken": "n",
	PGPASSWORD: "p",
	DIALTONE_TOKEN: "d",
	LD_PRELOAD: "/evil.so",
	NODE_OPTIONS: "--inspect",
	UNSET: undefined,
};
const TERMINAL = { TERM: "xterm-256color", COLORTERM: "truecolor" };

describe("D5, R4.14: what a program sees of its caller's environment", () => {
	test("safe: the caller's own passes, the terminal is ours, no credential passes", () => {
		expect(environment({ caller, inherit: "safe" })).toEqual({
			PATH: "/mine",
			HOME: "/home/me",
			LC_ALL: "C.UTF-8",
			SSH_AUTH_SOCK: "/agent",
			VIRTUAL_ENV: "/venv",
			DATABASE_URL: "postgres://me:pw@host/db",
			NODE_ENV: "development",
			http_proxy: "http://proxy:3128",
			GOOGLE_APPLICATION_CREDENTIALS: "/home/me/key.json",
			AWS_REGION: "eu-west-1",
			TOKENIZERS_PARALLELISM: "false",
			KEYBOARD: "us",
			...TERMINAL,
		});
	});

	test("what was withheld is named, and what describes another terminal is not", () => {
		expect(inherited(caller, { inherit: "safe" }).withheld).toEqual([
			"ANTHROPIC_API_KEY",
			"ANTHROPIC_BASE_URL",
			"AWS_ACCESS_KEY_ID",
			"AWS_SECRET_ACCESS_KEY",
			"AWS_SESSION_TOKEN",
			"GITHUB_TOKEN",
			"LD_PRELOAD",
			"NODE_OPTIONS",
			"PGPASSWORD",
			"npm_config_//registry.example/:_authToken",
		]);
	});

	test("none: only what programs need to work", () => {
		expect(environment({ caller, inherit: "none" })).toEqual({
			PATH: "/mine",
			HOME: "/home/me",
			LC_ALL: "C.UTF-8",
			...TERMINAL,
		});
	});

	test("all: everything but what describes another terminal", () => {
		const env = environment({ caller, inherit: "all" });
		expect(env).toMatchObject({ ANTHROPIC_API_KEY: "sk-1", GITHUB_TOKEN: "t", LD_PRELOAD: "/evil.so", ...TERMINAL });
		expect(env).not.toHaveProperty("DIALTONE_TOKEN");
		expect(env).not.toHaveProperty("TMUX");
		expect(env).not.toHaveProperty("COLUMNS");
	});

	test("explicit variables win, also withheld ones, and can remove others", () => {
		const explicit = { TERM: "vt100", GITHUB_TOKEN: "given", VIRTUAL_ENV: undefined };
		const env = environment({ caller, inherit: "safe", explicit });
		expect(env).toMatchObject({ TERM: "vt100", GITHUB_TOKEN: "given" });
		expect(env).not.toHaveProperty("VIRTUAL_ENV");
	});

	test("the options let more pass, or less", () => {
		const rules = { inherit: "safe", pass: ["NODE_OPTIONS", "AWS_*"], withhold: ["DATABASE_URL"] } as const;
		const env = environment({ caller, ...rules });
		expect(env).toMatchObject({ NODE_OPTIONS: "--inspect", AWS_SECRET_ACCESS_KEY: "s" });
		expect(env).not.toHaveProperty("DATABASE_URL");
		expect(environment({ caller, inherit: "none", pass: ["NODE_ENV"] })).toHaveProperty("NODE_ENV");
	});

	test("NODE_OPTIONS without a debugger passes", () => {
		const options = { NODE_OPTIONS: "--max-old-space-size=4096" };
		expect(environment({ caller: options, inherit: "safe" })).toMatchObject(options);
	});

	test("a caller without a PATH still finds programs", () => {
		expect(environment({ caller: {}, inherit: "safe" }).PATH).toContain("/usr/bin");
	});

	test("the documentation has every pattern", () => {
		const page = readFileSync(new URL("../../docs/environment.md", import.meta.url), "utf8");
		for (const pattern of Object.values(WITHHELD).flat()) expect(page).toContain(`\`${pattern}\``);
	});
});
