import { join } from "node:path";
import {
	type Conversation,
	pexpectLine,
	pexpectOpen,
	pexpectSend,
	press,
	send,
	start,
	tmuxKeys,
	tmuxLine,
	tmuxShell,
} from "../conversation.ts";

const WIZARD = join(import.meta.dirname, "../fixtures/wizard.mjs");

const clack: Conversation = {
	name: "a @clack wizard",
	task: "create a svelte app without git",
	needs: [],
	turns: (scene) => {
		scene.write("create-app", `#!/bin/sh\nexec node ${WIZARD}\n`, 0o755);
		return [
			{
				shows: /Project name\?/,
				ours: start("./create-app"),
				tmux: tmuxShell("./create-app"),
				pexpect: pexpectOpen("./create-app"),
			},
			{
				shows: /Which framework\?[\s\S]*svelte/,
				ours: send("create-app", "shop"),
				tmux: tmuxLine("shop"),
				pexpect: pexpectSend(String.raw`'shop\r'`),
			},
			{
				shows: /Initialize git\?/,
				ours: press("create-app", "down", "down", "enter"),
				tmux: tmuxKeys("Down Down Enter", 2),
				pexpect: pexpectSend(String.raw`'\x1b[B\x1b[B\r'`, 2),
			},
			{
				shows: /Created shop/,
				ours: press("create-app", "n"),
				tmux: tmuxKeys("n"),
				pexpect: pexpectSend("'n'"),
			},
		];
	},
	achieved: (scene) => scene.read("app.json") === '{"name":"shop","framework":"svelte","git":false}',
};

const npmInit: Conversation = {
	name: "npm init",
	finding: "T6",
	task: "give five answers at once, then name the author and accept the rest",
	needs: [],
	quick: true,
	turns: (scene) => {
		scene.run("mkdir", "app");
		return [
			{
				shows: /package name:/,
				ours: start("npm init", { cwd: "app" }),
				tmux: tmuxShell("cd app && npm init", 2),
				pexpect:
					"import pexpect; c = pexpect.spawn('npm init', cwd='app', encoding='utf-8'); c.expect('package name: .*'); print(c.before)",
			},
			{
				shows: /git repository:/,
				ours: press("npm", "enter", "enter", "enter", "enter", "enter"),
				tmux: "for i in 1 2 3 4 5; do tmux send-keys -t s Enter; sleep 0.5; done; tmux capture-pane -p -t s",
				pexpect:
					"for p in ['version:', 'description:', 'entry point:', 'test command:', 'git repository:']: c.sendline(); c.expect(p)\nprint(c.before, c.after)",
			},
			{
				shows: /author:/,
				ours: press("npm", "enter", "enter"),
				tmux: "for i in 1 2; do tmux send-keys -t s Enter; sleep 0.5; done; tmux capture-pane -p -t s",
				pexpect: "for p in ['keywords:', 'author:']: c.sendline(); c.expect(p)\nprint(c.before, c.after)",
			},
			{
				shows: /license:/,
				ours: send("npm", "Ann"),
				tmux: tmuxLine("Ann"),
				pexpect: pexpectLine("Ann", "license:"),
			},
			{
				shows: /Is this OK\?/,
				ours: press("npm", "enter", "enter"),
				tmux: "for i in 1 2; do tmux send-keys -t s Enter; sleep 0.5; done; tmux capture-pane -p -t s",
				pexpect: "for p in ['type:', 'Is this OK?']: c.sendline(); c.expect_exact(p)\nprint(c.before, c.after)",
			},
			{ shows: null, ours: press("npm", "enter"), tmux: tmuxKeys("Enter"), pexpect: pexpectLine("", null) },
		];
	},
	achieved: (scene) => {
		const { name, author, version } = JSON.parse(scene.read("app/package.json"));
		return name === "app" && version === "1.0.0" && author === "Ann";
	},
};

export const talks = [clack, npmInit];
