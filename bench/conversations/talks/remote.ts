import { SSHD_NEEDS, startSshd } from "../../../test/servers/sshd.ts";
import { type Conversation, pexpectLine, pexpectStart, send, start, tmuxLine, tmuxShell } from "../conversation.ts";

const ssh: Conversation = {
	name: "ssh",
	task: "accept the host key, log in, compute in a remote python",
	needs: [...SSHD_NEEDS, "python3"],
	turns: async (scene) => {
		const server = await startSshd();
		scene.defer(() => server[Symbol.asyncDispose]());
		// What a user has in ~/.ssh/config.
		scene.write("far", `#!/bin/sh\nexec ssh ${server.arguments.join(" ")}\n`, 0o755);
		return [
			{
				shows: /continue connecting/,
				ours: start("./far"),
				tmux: tmuxShell("./far"),
				pexpect: pexpectStart("./far", "])? "),
			},
			{
				shows: /password:/,
				header: "waiting for a secret",
				ours: send("far", "yes"),
				tmux: tmuxLine("yes"),
				pexpect: pexpectLine("yes", "password: "),
			},
			{
				shows: /\$ ?$/m,
				ours: send("far", server.password),
				tmux: tmuxLine(server.password),
				pexpect: pexpectLine(server.password, "$ "),
			},
			{
				shows: />>>/,
				ours: send("far", "python3 -q"),
				tmux: tmuxLine("python3 -q"),
				pexpect: pexpectLine("python3 -q", ">>> "),
			},
			{
				shows: /^5050$/m,
				ours: send("far", "sum(range(101))"),
				tmux: tmuxLine("sum(range(101))"),
				pexpect: pexpectLine("sum(range(101))", ">>> "),
			},
			{
				shows: /\$ ?$/m,
				ours: send("far", "exit()"),
				tmux: tmuxLine("exit()"),
				pexpect: pexpectLine("exit()", "$ "),
			},
			{ shows: null, ours: send("far", "exit"), tmux: tmuxLine("exit"), pexpect: pexpectLine("exit", null) },
		];
	},
	achieved: (_, read) => /^5050$/m.test(read) && !read.includes("open-sesame"),
};

export const talks = [ssh];
