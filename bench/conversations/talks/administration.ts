import { type Conversation, pexpectLine, pexpectStart, send, start, tmuxLine, tmuxShell } from "../conversation.ts";
import { writeMachine } from "../machine.ts";

const ANN = { name: "ann", uid: 64_331, password: "tulip-window-71" };
const BOB = { name: "bob", uid: 64_332, password: "copper-river-29" };
const NEXT = "marble-cloud-88";

const passwords: Conversation = {
	name: "passwd, sudo, su",
	task: "change a password, then work as root and as another user",
	needs: ["root", "mounts", "sudo", "openssl"],
	turns: (scene) => {
		writeMachine(scene, "login", [ANN, BOB], "su ann");
		return [
			{
				shows: /\$ ?$/m,
				ours: start("./login"),
				tmux: tmuxShell("./login"),
				pexpect: pexpectStart("./login", "$ "),
			},
			{
				shows: /Current password:/,
				header: "waiting for a secret",
				ours: send("login", "passwd"),
				tmux: tmuxLine("passwd"),
				pexpect: pexpectLine("passwd", "Current password: "),
			},
			{
				shows: /New password:/,
				header: "waiting for a secret",
				ours: send("login", ANN.password),
				tmux: tmuxLine(ANN.password),
				pexpect: pexpectLine(ANN.password, "New password: "),
			},
			{
				shows: /Retype new password:/,
				header: "waiting for a secret",
				ours: send("login", NEXT),
				tmux: tmuxLine(NEXT),
				pexpect: pexpectLine(NEXT, "Retype new password: "),
			},
			{
				shows: /updated successfully/,
				ours: send("login", NEXT),
				tmux: tmuxLine(NEXT),
				pexpect: pexpectLine(NEXT, "$ "),
			},
			{
				shows: /password for ann:/,
				header: "waiting for a secret",
				ours: send("login", "sudo id -un"),
				tmux: tmuxLine("sudo id -un"),
				pexpect: pexpectLine("sudo id -un", "password for ann: "),
			},
			{
				shows: /^root$/m,
				ours: send("login", NEXT),
				tmux: tmuxLine(NEXT),
				pexpect: pexpectLine(NEXT, "$ "),
			},
			{
				shows: /Password:[^:]*$/,
				ours: send("login", "su -c 'id -u' bob"),
				tmux: tmuxLine("su -c 'id -u' bob"),
				pexpect: pexpectLine("su -c 'id -u' bob", "Password: "),
			},
			{
				shows: /^64332$/m,
				ours: send("login", BOB.password),
				tmux: tmuxLine(BOB.password),
				pexpect: pexpectLine(BOB.password, "$ "),
			},
			{ shows: null, ours: send("login", "exit"), tmux: tmuxLine("exit"), pexpect: pexpectLine("exit", null) },
		];
	},
	achieved: (_, read) =>
		/updated successfully/.test(read) &&
		/^root$/m.test(read) &&
		/^64332$/m.test(read) &&
		![ANN.password, BOB.password, NEXT].some((password) => read.includes(password)),
};

const apt: Conversation = {
	name: "apt-get",
	task: "remove a package, after a look at what goes with it",
	needs: ["root", "mounts", "apt-get", "bc", "openssl"],
	turns: (scene) => {
		writeMachine(scene, "machine", [], '"$@"');
		return [
			{
				shows: /Do you want to continue\? \[Y\/n\]/,
				header: "waiting",
				ours: start("./machine apt-get remove bc", { name: "apt" }),
				tmux: tmuxShell("./machine apt-get remove bc", 2),
				pexpect: pexpectStart("./machine apt-get remove bc", "[Y/n] "),
			},
			{
				shows: /Removing bc[\s\S]*man-db/,
				ours: send("apt", "y"),
				tmux: tmuxLine("y", 3),
				pexpect: pexpectLine("y", null),
			},
		];
	},
	achieved: (_, read) => /Removing bc/.test(read),
};

export const talks = [passwords, apt];
