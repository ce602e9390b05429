import { type Conversation, pexpectLine, pexpectStart, send, start, tmuxLine, tmuxStart } from "../conversation.ts";

const SUM = `#include <stdio.h>
int main(void) {
	int sum = 0;
	for (int i = 1; i <= 4; i++)
		sum += i;
	printf("%d\\n", sum);
	return 0;
}
`;

const MEAN = `def mean(values):
    total = sum(values)
    count = len(values) - 1
    return total / count

print(mean([3, 4, 5]))
`;

const gdb: Conversation = {
	name: "gdb",
	task: "find the value of `sum` at line 6",
	needs: ["gdb", "gcc"],
	quick: true,
	turns: (scene) => {
		scene.write("sum.c", SUM);
		scene.run("gcc", "-g", "-O0", "-o", "sum", "sum.c");
		return [
			{
				shows: /\(gdb\)/,
				ours: start("gdb -q ./sum"),
				tmux: tmuxStart("gdb -q ./sum"),
				pexpect: pexpectStart("gdb -q ./sum", "(gdb) "),
			},
			{
				shows: /Breakpoint 1 at/,
				ours: send("gdb", "break 6"),
				tmux: tmuxLine("break 6"),
				pexpect: pexpectLine("break 6", "(gdb) "),
			},
			{
				shows: /Breakpoint 1, main[\s\S]*printf/,
				ours: send("gdb", "run"),
				tmux: tmuxLine("run"),
				pexpect: pexpectLine("run", "(gdb) "),
			},
			{
				shows: /\$1 = /,
				ours: send("gdb", "print sum"),
				tmux: tmuxLine("print sum"),
				pexpect: pexpectLine("print sum", "(gdb) "),
			},
			{
				shows: /Quit anyway\?/,
				ours: send("gdb", "quit"),
				tmux: tmuxLine("quit"),
				pexpect: pexpectLine("quit", "(y or n) "),
			},
			{ shows: null, ours: send("gdb", "y"), tmux: tmuxLine("y"), pexpect: pexpectLine("y", null) },
		];
	},
	achieved: (_, read) => read.includes("$1 = 10"),
};

const pdb: Conversation = {
	name: "pdb",
	task: "find the wrong `count` in a function",
	needs: ["python3"],
	turns: (scene) => {
		scene.write("mean.py", MEAN);
		return [
			{
				shows: /\(Pdb\)/,
				ours: start("python3 -m pdb mean.py", { name: "pdb" }),
				tmux: tmuxStart("python3 -m pdb mean.py"),
				pexpect: pexpectStart("python3 -m pdb mean.py", "(Pdb) "),
			},
			{
				shows: /Breakpoint 1/,
				ours: send("pdb", "b 4"),
				tmux: tmuxLine("b 4"),
				pexpect: pexpectLine("b 4", "(Pdb) "),
			},
			{
				shows: /return total/,
				ours: send("pdb", "c"),
				tmux: tmuxLine("c"),
				pexpect: pexpectLine("c", "(Pdb) "),
			},
			{
				shows: /\(12, 2\)/,
				ours: send("pdb", "p total, count"),
				tmux: tmuxLine("p total, count"),
				pexpect: pexpectLine("p total, count", "(Pdb) "),
			},
			{ shows: null, ours: send("pdb", "q"), tmux: tmuxLine("q"), pexpect: pexpectLine("q", null) },
		];
	},
	achieved: (_, read) => read.includes("(12, 2)"),
};

export const talks = [gdb, pdb];
