import {
	type Conversation,
	pexpectLine,
	pexpectLook,
	pexpectSend,
	pexpectStart,
	press,
	send,
	start,
	tmuxKeys,
	tmuxLine,
	tmuxShell,
} from "../conversation.ts";
import type { Scene } from "../scene.ts";

/** A repository in the scene's directory, with an identity and vim as its editor. */
function repository(scene: Scene): (...args: string[]) => string {
	scene.write(".gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.org\n[core]\n\teditor = vim\n");
	scene.write(".gitignore", ".*\n");
	const git = (...args: string[]) => scene.run("git", ...args);
	git("init", "-q", "-b", "main");
	return git;
}

function commit(scene: Scene, name: string, text: string, message: string): void {
	scene.write(name, text);
	scene.run("git", "add", name);
	scene.run("git", "commit", "-qm", message);
}

const rebase: Conversation = {
	name: "git rebase -i",
	task: "squash the last two commits, in vim",
	needs: ["git", "vim"],
	quick: true,
	turns: (scene) => {
		repository(scene);
		for (const name of ["one", "two", "three"]) commit(scene, name, `${name}\n`, `Add ${name}`);
		return [
			{
				shows: /pick .* Add two[\s\S]*pick .* Add three/,
				ours: start("git rebase -i HEAD~2"),
				tmux: tmuxShell("git rebase -i HEAD~2"),
				pexpect: pexpectStart("git rebase -i HEAD~2", "Add three"),
			},
			{
				shows: /combination of 2 commits/,
				header: "full screen",
				ours: send("git", ":2s/pick/squash/\n:wq"),
				tmux: tmuxKeys("':2s/pick/squash/' Enter ':wq' Enter"),
				pexpect: String.raw`c.send(':2s/pick/squash/\r:wq\r'); c.expect_exact('combination of 2 commits'); print(c.before)`,
			},
			{
				shows: /Successfully rebased/,
				header: "ended, exit code 0",
				ours: send("git", ":wq"),
				tmux: tmuxLine(":wq"),
				pexpect: pexpectLine(":wq", null),
			},
		];
	},
	achieved: (scene) => {
		const log = scene.run("git", "log", "--format=%s %b");
		return /^Add two Add three\s+Add one\s*$/.test(log);
	},
};

const conflict: Conversation = {
	name: "merge conflict in nano",
	task: "keep the branch's line and commit the merge",
	needs: ["git", "nano"],
	turns: (scene) => {
		const git = repository(scene);
		commit(scene, "greeting.txt", "title\nhello\nend\n", "Begin");
		git("checkout", "-qb", "feature");
		commit(scene, "greeting.txt", "title\nhello from the branch\nend\n", "Branch");
		git("checkout", "-q", "main");
		commit(scene, "greeting.txt", "title\nhello from main\nend\n", "Main");
		const command = "git merge feature; nano greeting.txt && git commit -qam Merged";
		return [
			{
				shows: /<<<<<<< HEAD[\s\S]*>>>>>>> feature/,
				ours: start(command, { name: "merge" }),
				tmux: tmuxShell(command),
				pexpect: `import pexpect, time; c = pexpect.spawn('bash', ['-c', '${command}'], encoding='utf-8'); ${pexpectLook()}`,
			},
			{
				shows: /hello from the branch\s+(?:4: )?end/,
				ours: press("merge", "down", "ctrl+k", "ctrl+k", "ctrl+k", "down", "ctrl+k"),
				tmux: tmuxKeys("Down C-k C-k C-k Down C-k"),
				pexpect: pexpectSend(String.raw`'\x1b[B\x0b\x0b\x0b\x1b[B\x0b'`),
			},
			{
				shows: null,
				ours: press("merge", "ctrl+x", "y", "enter"),
				tmux: tmuxKeys("C-x y Enter"),
				pexpect: String.raw`c.send('\x18y\r'); c.expect(pexpect.EOF); print(c.before)`,
			},
		];
	},
	achieved: (scene) =>
		scene.read("greeting.txt") === "title\nhello from the branch\nend\n" &&
		scene.run("git", "log", "-1", "--format=%s %p").split(" ").length === 3 &&
		scene.run("git", "status", "--porcelain") === "",
};

/** Three places, far enough apart to be hunks of their own. */
const places = (words: readonly string[]) =>
	words.map((word, at) => `${word}\n${Array.from({ length: 9 }, (_, n) => `line ${at}${n}\n`).join("")}`).join("");

const addPatch: Conversation = {
	name: "git add -p",
	task: "stage the first and the third of three hunks",
	needs: ["git"],
	turns: (scene) => {
		repository(scene);
		commit(scene, "notes.txt", places(["alpha", "beta", "gamma"]), "Begin");
		scene.write("notes.txt", places(["Alpha", "debug", "Gamma"]));
		return [
			{
				shows: /\+Alpha[\s\S]*\(1\/3\) Stage this hunk/,
				ours: start("git add -p"),
				tmux: tmuxShell("git add -p"),
				pexpect: pexpectStart("git add -p", "]? "),
			},
			{
				shows: /\+debug[\s\S]*\(2\/3\) Stage this hunk/,
				ours: send("git", "y"),
				tmux: tmuxLine("y"),
				pexpect: pexpectLine("y", "]? "),
			},
			{
				shows: /\+Gamma[\s\S]*\(3\/3\) Stage this hunk/,
				ours: send("git", "n"),
				tmux: tmuxLine("n"),
				pexpect: pexpectLine("n", "]? "),
			},
			{ shows: null, ours: send("git", "y"), tmux: tmuxLine("y"), pexpect: pexpectLine("y", null) },
		];
	},
	achieved: (scene) => {
		const staged = scene.run("git", "diff", "--cached");
		return staged.includes("+Alpha") && staged.includes("+Gamma") && !staged.includes("+debug");
	},
};

export const talks = [rebase, conflict, addPatch];
