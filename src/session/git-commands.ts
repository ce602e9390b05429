// What git runs for its arguments beside itself: commands in its configuration (`-c core.pager=…`, an alias) and in
// the options of its commands (`rebase --exec`), and addresses (`ext::…`). Hooks and configuration files are scripts, which are not seen.

import { ANY, type CommandLine, commandsIn, joined, type SimpleCommand } from "./command-line.ts";

/** Settings whose value is a command. Their case does not matter. */
const RUN_SETTING = new RegExp(
	`^(?:alias|pager)\\.|\\.(?:${[
		...["pager", "editor", "sshcommand", "askpass", "gitproxy", "fsmonitor", "external", "command", "cmd", "textconv"],
		...["driver", "clean", "smudge", "process", "helper", "program", "difffilter", "packobjectshook", "uploadpack"],
		...["receivepack", "browser", "tocmd", "cccmd", "headercmd", "sendmailcmd", "defaultkeycommand"],
	].join("|")})$`,
	"i",
);
const RUN_OPTION =
	/^(?:foreach|run|ext::(.*)|--(?:exec|extcmd|upload-pack|receive-pack|open-files-in-pager|(?:setup|env|tree|index|parent|msg|commit|tag-name)-filter)(?:=(.*))?)$/s;
const SETS = new Set(["-c", "--config", "--config-env", "config", "set"]);

/** Of the arguments of one git. */
export function commandsOfGit(args: readonly string[]): CommandLine {
	return joined(args.flatMap((_, at) => [settingAt(args, at), optionAt(args, at)].filter((line) => line !== null)));
}

const UNKNOWN: CommandLine = { commands: [], unclear: true };

/** `KEY=VALUE` in one word, or in two. */
function settingAt(args: readonly string[], at: number): CommandLine | null {
	const [, prefix = "", key = "", inWord] = /^(--config(?:-env)?=)?([^=]*)(?:=(.*))?$/s.exec(args[at]!)!;
	const before = args[at - 1] ?? "";
	if (key.includes(ANY)) return prefix !== "" || SETS.has(before) ? UNKNOWN : null;
	if (!RUN_SETTING.test(key)) return null;
	// This one names a variable.
	if (prefix === "--config-env=" || before === "--config-env") return UNKNOWN;
	const value = inWord ?? args[at + 1];
	if (value === undefined) return null;
	const isAlias = /^alias\./i.test(key);
	const text = isAlias && !value.startsWith("!") ? `git ${value}` : value.replace(/^!/, "");
	const { commands, unclear } = commandsIn(text.replaceAll(ANY, "$x"));
	const used = isAlias ? args.indexOf(key.slice(key.indexOf(".") + 1), at + 1) : -1;
	// Where an alias is used, its arguments follow; others git makes, or a later call.
	const added = used < 0 ? [ANY] : args.slice(used + 1);
	return { commands: commands.map((one) => ({ ...one, words: [...one.words, ...added] })), unclear };
}

function optionAt(args: readonly string[], at: number): CommandLine | null {
	const isShort = args[at] === "-x" && (args.includes("rebase") || args.includes("difftool"));
	const option = isShort ? [] : RUN_OPTION.exec(args[at]!);
	if (option === null) return null;
	// In an address `% ` is a blank.
	const value = option[1]?.replace(/%(.)/g, "$1") ?? option[2];
	// Read like the arguments of `env`: any of them may begin the command, or be all of it.
	const command: SimpleCommand = { words: ["env", ...(value === undefined ? args.slice(at + 1) : [value])] };
	return { commands: [command], unclear: false };
}
