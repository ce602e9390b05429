import { spawn } from "node:child_process";
import { once } from "node:events";
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
	tmuxStart,
} from "../conversation.ts";

const htopAndMan: Conversation = {
	name: "htop and man",
	task: "find the PID of a process, and what an option of tar does",
	needs: ["htop", "man", "less"],
	turns: (scene) => {
		const needle = spawn("sleep", ["600"], { argv0: "needle-7", stdio: "ignore" });
		scene.write("needle.pid", String(needle.pid));
		scene.defer(async () => {
			const ended = once(needle, "exit");
			needle.kill();
			await ended;
		});
		return [
			{
				shows: /PID\s+USER/,
				ours: start("htop"),
				tmux: tmuxShell("htop"),
				pexpect: pexpectOpen("htop"),
			},
			{
				shows: /needle-7/,
				ours: send("htop", "\\needle"),
				tmux: tmuxLine("\\needle"),
				pexpect: pexpectSend(String.raw`'\\needle\r'`),
			},
			{
				shows: null,
				ours: press("htop", "q"),
				tmux: tmuxKeys("q"),
				pexpect: "c.send('q'); c.expect(pexpect.EOF)",
			},
			{
				shows: /TAR\(1\)/,
				ours: start("man tar"),
				tmux: tmuxLine("man tar"),
				pexpect: `c = pexpect.spawn('man tar', encoding='utf-8'); c.expect_exact('Manual page tar(1)'); print(c.before)`,
			},
			{
				shows: /Strip NUMBER leading components/,
				ours: send("man", "/--strip-comp"),
				tmux: tmuxLine("/--strip-comp"),
				pexpect: "c.sendline('/--strip-comp'); c.expect_exact('Manual page tar(1)'); print(c.before)",
			},
			{
				shows: null,
				ours: press("man", "q"),
				tmux: tmuxKeys("q"),
				pexpect: "c.send('q'); c.expect(pexpect.EOF)",
			},
		];
	},
	achieved: (scene, read) =>
		new RegExp(`\\b${scene.read("needle.pid")}\\b.*needle-7`).test(read) && /Strip NUMBER/.test(read),
};

const vim: Conversation = {
	name: "vim, search and replace",
	task: "change the scheme of all 40 addresses of a file",
	needs: ["vim"],
	turns: (scene) => {
		const lines = Array.from({ length: 40 }, (_, n) => `mirror-${n} = http://example.org/${n}\n`);
		scene.write("mirrors.conf", lines.join(""));
		return [
			{
				shows: /mirror-0 = http:/,
				ours: start("vim mirrors.conf"),
				tmux: tmuxStart("vim mirrors.conf"),
				pexpect: pexpectOpen("vim mirrors.conf"),
			},
			{
				shows: /40 substitutions/,
				ours: send("vim", ":%s/http:/https:/g"),
				tmux: tmuxLine(":%s/http:/https:/g"),
				pexpect: pexpectLine(":%s/http:/https:/g", "40 substitutions"),
			},
			{ shows: null, ours: send("vim", ":wq"), tmux: tmuxLine(":wq"), pexpect: pexpectLine(":wq", null) },
		];
	},
	achieved: (scene) => scene.read("mirrors.conf").match(/https:/g)?.length === 40,
};

const MENUS = `#!/bin/bash
size=$(whiptail --menu Size 12 40 3 s Small m Medium l Large 3>&1 1>&2 2>&3)
extras=$(dialog --stdout --checklist Extras 12 40 3 cheese Cheese off ham Ham off olives Olives off)
city=$(printf '%s\\n' Berlin Bern Bergen Boston Brest | fzf)
echo "order: $size, $extras, $city" | tee order.txt
`;

const menus: Conversation = {
	name: "whiptail, dialog, fzf",
	task: "order large, with cheese and olives, to Bergen",
	needs: ["whiptail", "dialog", "fzf"],
	quick: true,
	turns: (scene) => {
		scene.write("order", MENUS, 0o755);
		return [
			{
				shows: /Small[\s\S]*Medium[\s\S]*Large/,
				ours: start("./order"),
				tmux: tmuxShell("./order"),
				pexpect: pexpectOpen("./order"),
			},
			{
				shows: /Cheese[\s\S]*Ham[\s\S]*Olives/,
				ours: press("order", "down", "down", "enter"),
				tmux: tmuxKeys("Down Down Enter"),
				pexpect: pexpectSend(String.raw`'\x1bOB\x1bOB\r'`),
			},
			{
				shows: /Bergen/,
				ours: press("order", "space", "down", "down", "space", "enter"),
				tmux: tmuxKeys("Space Down Down Space Enter"),
				pexpect: pexpectSend(String.raw`' \x1bOB\x1bOB \r'`),
			},
			{
				shows: /> Bergen/,
				ours: ["send", { session: "order", text: "berge" }],
				tmux: tmuxKeys("berge"),
				pexpect: pexpectSend("'berge'"),
			},
			{
				shows: /order: l, cheese olives, Bergen/,
				header: "ended, exit code 0",
				ours: press("order", "enter"),
				tmux: tmuxKeys("Enter"),
				pexpect: String.raw`c.send('\r'); c.expect(pexpect.EOF); print(c.before)`,
			},
		];
	},
	achieved: (scene) => scene.read("order.txt") === "order: l, cheese olives, Bergen\n",
};

const tmuxInside: Conversation = {
	name: "tmux inside",
	task: "compute in a second pane, then detach",
	needs: ["tmux"],
	turns: (scene) => {
		// Where it has not ended with all sessions.
		scene.defer(() => void scene.run("sh", "-c", "tmux -S inner kill-server || :"));
		return [
			{
				shows: /\[work\]/,
				ours: start("tmux -S inner new -s work"),
				tmux: tmuxShell("TMUX= tmux -S inner new -s work"),
				pexpect: pexpectOpen("tmux -S inner new -s work"),
			},
			{
				shows: /│/,
				ours: press("tmux", "ctrl+b", "%"),
				// The outer one takes no prefix from send-keys.
				tmux: tmuxKeys("C-b %"),
				pexpect: pexpectSend(String.raw`'\x02%'`),
			},
			{
				shows: /42 panes/,
				ours: send("tmux", "echo $((6*7)) panes"),
				tmux: tmuxLine("echo $((6*7)) panes"),
				pexpect: pexpectLine("echo $((6*7)) panes", "42 panes"),
			},
			{
				shows: /detached/,
				ours: press("tmux", "ctrl+b", "d"),
				tmux: tmuxKeys("C-b d"),
				pexpect: String.raw`c.send('\x02d'); c.expect(pexpect.EOF); print(c.before)`,
			},
		];
	},
	achieved: (scene) => {
		const panes = scene.run("tmux", "-S", "inner", "list-panes", "-s", "-t", "work", "-F", "#{pane_index}");
		const attached = scene.run("tmux", "-S", "inner", "list-clients");
		return (
			panes.trim().split("\n").length === 2 &&
			attached === "" &&
			scene.run("tmux", "-S", "inner", "capture-pane", "-p", "-t", "work").includes("42 panes")
		);
	},
};

export const talks = [htopAndMan, vim, menus, tmuxInside];
