import {
	type Conversation,
	pexpectLine,
	pexpectLook,
	pexpectOpen,
	pexpectStart,
	send,
	start,
	tmuxKeys,
	tmuxLine,
	tmuxPaste,
	tmuxShell,
	tmuxStart,
} from "../conversation.ts";

const FUNCTION = `def primes(n):
    sieve = set(range(2, n))
    for i in range(2, n):
        sieve -= set(range(2 * i, n, i))
    return sorted(sieve)
`;

const ipython: Conversation = {
	name: "ipython",
	task: "define a function of several lines and use it",
	needs: ["ipython3"],
	turns: () => [
		{
			shows: /In \[1\]:/,
			ours: start("ipython3"),
			tmux: tmuxStart("ipython3", 3),
			// Its own prompt is drawn with escape sequences that no pattern for a prompt meets.
			pexpect: pexpectStart("ipython3 --simple-prompt", "In [1]: "),
		},
		{
			shows: /In \[2\]:/,
			ours: ["send", { session: "ipython3", paste: FUNCTION, submit: true }],
			tmux: tmuxPaste(FUNCTION),
			pexpect: `c.sendline("""${FUNCTION}"""); c.expect_exact('In [2]: '); print(c.before)`,
		},
		{
			shows: /Out\[2\]: 97/,
			ours: send("ipython3", "primes(100)[-1]"),
			tmux: tmuxLine("primes(100)[-1]"),
			pexpect: pexpectLine("primes(100)[-1]", "In [3]: "),
		},
		{ shows: null, ours: send("ipython3", "exit"), tmux: tmuxLine("exit"), pexpect: pexpectLine("exit", null) },
	],
	achieved: (_, read) => /Out\[2\]: 97/.test(read),
};

const TICKS = "let n = 0; const t = setInterval(() => console.log('tick', ++n), 400)";

const node: Conversation = {
	name: "node with an interval",
	task: "compute while a timer prints, then stop the timer",
	needs: [],
	turns: () => [
		{ shows: />/, ours: start("node"), tmux: tmuxStart("node"), pexpect: pexpectStart("node", "> ") },
		{
			shows: /undefined/,
			ours: send("node", TICKS),
			tmux: tmuxLine(TICKS),
			pexpect: `c.sendline("${TICKS}"); c.expect_exact('undefined'); print(c.before)`,
		},
		{
			shows: /^4950$/m,
			ours: send("node", "99 * 50"),
			tmux: tmuxLine("99 * 50"),
			pexpect: "c.sendline('99 * 50'); c.expect_exact('4950'); print(c.before, c.after)",
		},
		{
			shows: null,
			ours: send("node", "clearInterval(t)"),
			tmux: tmuxLine("clearInterval(t)"),
			pexpect: "c.sendline('clearInterval(t)'); c.expect_exact('undefined'); print(c.before)",
		},
		{
			shows: null,
			ours: ["send", { session: "node", keys: ["ctrl+d"] }],
			tmux: tmuxKeys("C-d"),
			pexpect: "c.sendeof(); c.expect(pexpect.EOF); print(c.before)",
		},
	],
	achieved: (_, read) => /\b4950\b/.test(read),
};

const LOGIN = `import getpass
user = input("Username: ")
password = getpass.getpass()
again = getpass.getpass("Again: ")
print(f"token: {user}-{len(password)}" if password == again else "they differ")
`;

const getpass: Conversation = {
	name: "getpass",
	task: "get a token for a user with a password",
	needs: ["python3"],
	turns: (scene) => {
		scene.write("login.py", LOGIN);
		return [
			{
				shows: /Username:/,
				ours: start("python3 login.py"),
				tmux: tmuxShell("python3 login.py"),
				pexpect: pexpectOpen("python3 login.py"),
			},
			{
				shows: /Password:/,
				header: "waiting for a secret",
				ours: send("python3", "ann"),
				tmux: tmuxLine("ann"),
				pexpect: `c.sendline('ann'); ${pexpectLook()}`,
			},
			{
				shows: /Again:/,
				header: "waiting for a secret",
				ours: send("python3", "tulip-71"),
				tmux: tmuxLine("tulip-71"),
				pexpect: `c.sendline('tulip-71'); ${pexpectLook()}`,
			},
			{
				shows: /token: ann-8/,
				header: "ended, exit code 0",
				ours: send("python3", "tulip-71"),
				tmux: tmuxLine("tulip-71"),
				pexpect: `c.sendline('tulip-71'); ${pexpectLook()}`,
			},
		];
	},
	achieved: (_, read) => read.includes("token: ann-8") && !read.includes("tulip-71"),
};

export const talks = [ipython, node, getpass];
