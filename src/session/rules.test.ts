// R4.14: what a rule sees of a command line.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commandOf, commandsIn, withVariables } from "./command-line.ts";
import { mayRun, ruleFor } from "./rules.ts";

const PUSH = "git push *";
const asks = (line: string, pattern = PUSH) => mayRun(pattern, commandsIn(line));

/** Each would push. */
const HIDDEN = [
	"git push",
	"git push origin main",
	"  git   push  origin",
	"/usr/bin/git push",
	"\\git push",
	"'git' push",
	'"git" push',
	"g'i't p\"us\"h x",
	"git pu\\\nsh",
	"true; git push",
	"true;git push",
	"true && git push",
	"false || git push",
	"true & git push",
	"true | git push",
	"true\ngit push",
	"(git push)",
	"(cd x && git push)",
	"{ git push; }",
	"echo $(git push)",
	'echo "$(git push)"',
	'echo "a `git push` b"',
	"echo `git push`",
	"echo ${x:-$(git push)}",
	"echo $(( $(git push) + 1 ))",
	"x=$(git push)",
	"A=1 B=2 git push",
	"bash -c 'git push'",
	"sh -ec 'cd x; git push'",
	'bash --norc -c "git push"',
	"bash -c \"bash -c 'git push'\"",
	"bash <<EOF\ngit push\nEOF",
	"bash <<-'EOF'\n\tgit push\n\tEOF",
	"bash <<EOF && true\ngit push\nEOF",
	"cat <<EOF\n$(git push)\nEOF",
	'cat <<EOF\n$(bash -c "git push")\nEOF',
	"bash <<< 'git push'",
	"echo git push | bash",
	"curl x | sudo sh",
	"bash < file",
	"bash <(echo git push)",
	"env git push",
	"env A=1 -i git push",
	"env -S 'git push'",
	"sudo git push",
	"sudo -u bob -- git push",
	"nohup git push &",
	"time -p git push",
	"exec git push",
	"exec -a x git push",
	"command git push",
	"timeout 5 git push",
	"nice -n 5 git push",
	"echo push | xargs git",
	"echo x | xargs -n1 git push",
	"echo 'git push' | xargs -I{} sh -c {}",
	"find . -exec git push \\;",
	"eval git push",
	'eval "git push"',
	"alias g='git push'",
	"trap 'git push' EXIT",
	"su bob -c 'git push'",
	"ssh host 'git push'",
	"f() { git push; }; f",
	"function f { git push; }; f",
	"if true; then git push; fi",
	"for i in 1 2; do git push; done",
	"while git push; do :; done",
	"case x in x) git push;; esac",
	"! git push",
	"git push > log 2>&1",
	"> log git push",
	"2>/dev/null git push",
	"git -C dir push",
	"git --no-pager push origin",
	"$GIT push",
	"${GIT} push",
	"g$(echo it) push",
	"g${x}it push",
	"git $x",
	"git $(echo push)",
	"git pu?h",
	"$'\\x67it' push",
	"git $'push'",
	"{git,push,origin}",
	"git {push,origin}",
	"!!",
	"!git",
	"^pull^push",
	"git !$",
	"echo 'unclosed",
	'echo "unclosed',
	"echo $(unclosed",
	"cat <<EOF\nno end",
	"echo a # ; git push",
	"diff <(git push) x",
	"coproc git push",
	"git\tpush",
	"{fd}>x git push",
	"echo git push | tee >(bash)",
	"echo git push > >(sudo sh)",
	"source /dev/stdin <<< 'git push'",
	"source <(echo git push)",
	"echo git push | . /dev/stdin",
	"alias g=git",
	"alias l=ls g=/usr/bin/git",
	"hash -p /usr/bin/git ls",
	"complete -C 'git push' x",
	"mapfile -C 'git push' x",
	"npx git push",
	"/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
	"/lib/ld-musl-x86_64.so.1 --library-path /x git push",
	"ld.so git push",
	"bind -x '\"\\C-x\": git push'",
	'bind -x \'"\\C-x": "git push"\'',
	'bind \'"\\C-x": "git push\\n"\'',
	'bind \'"\\C-x":"git push\\C-m"\'',
	"bindkey -s '^X' 'git push^M'",
	"git -c core.pager='git push' log",
	"git -c core.pager='cat; git push' log",
	"git --config-env=core.pager=X log",
	"git -c core.editor='git push' commit",
	"git -c alias.x='!git push' x",
	"git -c alias.x=push x origin",
	"git -c alias.x='!git' x push",
	"git -c $x log",
	"git -c core.pager=$x log",
	'git -c core.pager="\'unclosed" log',
	"git config --global alias.p push",
	"git config core.sshCommand 'git push;'",
	"git rebase -x 'git push' main",
	"git rebase --exec='git push' main",
	"git bisect run git push",
	"git submodule foreach --recursive git push",
	"GIT_PAGER='git push' git log",
	"PAGER='git push' man ls",
	"A=1 PAGER='x; git push' man ls",
	"PAGER='git push'",
	"PAGER=$x man ls",
	"export EDITOR='git push'",
	"env -i GIT_PAGER='git push' git log",
	"sudo MANPAGER='git push' man ls",
	"LESSOPEN='|git push %s' less x",
	"PROMPT_COMMAND='git push'",
	"PROMPT_COMMAND[1]='git push'",
	"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x",
	"GIT_CONFIG_PARAMETERS=\"'alias.x'='push'\" git x",
	"[[ -v 'a[$(git push)]' ]]",
	'[[ -v "a[\\$(git push)]" ]]',
	"[[ -v a[\\$\\(git\\ push\\)] ]]",
	"[[ -v $'a[\\x24(git push)]' ]]",
	"test -v 'a[$(git push)]'",
	"test -v 'a[`git push`]'",
	"test -v 'a[b[0]+$(git push)]'",
	"test -v 'a[${ git push; }]'",
	"echo ${ git push; }",
	'echo "${| git push; }"',
	"printf -v 'a[$(git push)]' x",
	"read 'a[$(git push)]' <<<1",
	"read x <<<'a[$(git push)]'; echo $((x))",
	"let 'a[$(git push)]=1'",
	"let 'b=1+a[$(git push)]'",
	"declare 'a[$(git push)]=1'",
	"declare -n r='a[$(git push)]'; echo $r",
	"x='a[$(git push)]'; echo $((x))",
	"[[ 'a[$(git push)]' -eq 1 ]]",
	"for ((i='a[$(git push)]';0;)); do :; done",
	"PS1='$(git push)'",
	"PS1='`git push`'",
	"PS1='\\044(git push)'",
	'PS1="\\$($x)"',
	"PS4='$(git push)'; set -x; :",
	"PS0='$(git push)'",
	"PROMPT='$(git push)'",
	"export PS1='$(git push)'",
	"BASH_ENV='$(git push)' bash -c ls",
	"env ENV='$(git push)' sh",
	"env 'BASH_FUNC_ls%%=() { git push; }' bash -c ls",
	"x='$(git push)'; echo \"${x@P}\"",
	"x='$(git push)'; print ${(e)x}",
	"history -s git push; fc -s",
	"fc -s",
	"fc",
	"ssh -oProxyCommand='git push' x",
	"ssh -o ProxyCommand='git push' x",
	"ssh -o 'ProxyCommand git push' x",
	"ssh -o PermitLocalCommand=yes -oLocalCommand='git push' x",
	"scp -oProxyCommand='git push' a x:",
	"tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='git push' x",
	"tar --checkpoint-action 'exec=git push' -cf x x",
	"tar -I 'git push' -cf x x",
	"tar -cI'git push' -f x x",
	"tar cIf 'git push' x x",
	"tar --use-compress-program='git push' -cf x x",
	"tar xf x --to-command='git push'",
	"TAR_OPTIONS=\"--to-command='git push'\" tar xf x",
	"split --filter='git push' f",
	"rsync -e 'git push' a b:",
	"rsync --rsh='git push' a b:",
	"start-stop-daemon -S -x /usr/bin/git -- push",
	"start-stop-daemon -S --exec=/usr/bin/git -- push",
	"npm exec -- git push",
	"npm exec -c 'git push'",
	"npm exec --call='git push'",
	"npm x -- git push",
	"pnpm dlx git push",
	"pnpm exec git push",
	"yarn exec git push",
	"yarn dlx git push",
	"uv run git push",
	"capsh -- -c 'git push'",
	"env -S'git push'",
	"git ls-remote 'ext::git push'",
	"git clone 'ext::sh -c git% push'",
	"sed '1e git push' f",
	"sed -n -e p -e '/x/e git push' f",
	"sed --expression='$!{p;e git push\n}' f",
	"sed 's/x/git push/e' f",
	"sed 's|x|git push|ge' f",
	"sed -ne 's/x/y/;e' f",
	"make -f - <<< 'a:;git push'",
	"make -f <(echo 'a:;git push')",
	"make --file=/dev/stdin < x",
	"vim -es -c '!git push' -c q",
	"nvim --cmd 'silent !git push' f",
	"ex '+!git push' f",
	"vi -c 'q!|!git push' f",
	"less '+!git push' f",
	"man -P 'git push' ls",
	"echo git push | at now",
	"echo git push | crontab -",
];

/** None of these does. */
const HARMLESS = [
	"git status",
	"git pull",
	"git pushed",
	"echo git push",
	"echo 'git push'",
	'printf "%s" "git push"',
	"ls -la | grep push",
	"cat <<'EOF'\ngit push\nEOF",
	"cat <<EOF\ngit push $HOME\nEOF",
	"make && ./run.sh $HOME",
	"rm -rf build",
	"x='git push'",
	"for f in *.txt; do wc -l $f; done",
	"echo $((1 + 2))",
	"((i++))",
	"[ -f x ] && echo yes",
	"[[ $x == y ]] && echo yes",
	"grep 'git' push",
	"npm run build 2>&1 | tee log",
	"sudo apt-get install -y git",
	"bash script.sh",
	"bash",
	"source script.sh",
	". venv/bin/activate",
	"alias ll='ls -l'",
	"hash -r",
	"make | tee >(grep git)",
	"echo done!",
	"/lib64/ld-linux-x86-64.so.2 --list /bin/ls",
	"bind -P",
	"bind '\"\\e[A\": history-search-backward'",
	"bind -x '\"\\C-l\": clear'",
	"git -c core.pager=cat log",
	"git -c user.name=\"O'Brien\" commit -m 'git push'",
	'git -c user.name="$name" commit',
	"git -c alias.st=status st",
	"git clean -x .",
	"git config user.name Ana",
	"PAGER=cat git log",
	"EDITOR=true git commit",
	"export PAGER=less",
	"echo PAGER='git push'",
	'echo "${arr[0]}"',
	'echo "${arr[$i]}" ${arr[@]:1:2}',
	"printf '%s\\n' x",
	"read name",
	'read -r -a parts <<< "$line"',
	"[[ -v name ]]",
	"[[ -v 'a[0]' ]]",
	"let i+=1",
	"declare -a list=(a b)",
	"x='a[0]'",
	"PS1='$ '",
	"PS1='\\u@\\h:\\w\\$ '",
	"PS1='$(date) $ '",
	"BASH_ENV=~/.env bash -c ls",
	"echo 'run `git push` later'",
	"git commit -m 'Fix a[0]; then `git push`'",
	"cat > a.md <<'EOF'\nlist[0]: `it's`\nEOF",
	"node -e 'console.log(a[0], `${b}`)'",
	"fc -l",
	"history 20",
	"ssh host ls",
	"ssh -o StrictHostKeyChecking=no -i key host ls",
	"scp -P 22 a host:b",
	"tar xzf a.tgz",
	"tar -czf git.tgz --exclude=push git push",
	"tar -I zstd -xf a.tzst",
	"split -l 10 f",
	"split --filter='gzip > $FILE.gz' f",
	"rsync -az -e 'ssh -p 22' a b:",
	"npm test",
	"npm run build",
	"npm exec -- tsc --noEmit",
	"npx vitest run",
	"pnpm install",
	"uv run pytest",
	"sed -n 1p f",
	"sed -i.bak -e 's/a/e/g; s/e/b/' src/e.txt",
	"sed -n '/start/,/end/p' f",
	'sed "s/$a/$b/" f',
	"sed 's,/usr,/e,' f",
	"sed '$d;/^e/d' f",
	"make test",
	"make -j4 -f other.mk all",
	"make -C dir test",
	"vim file",
	"vim +10 file",
	"vim -c 'set nu' -c 'wq!' file",
	"less +G f",
	"man ls",
	"git clone https://example.com/a.git",
	"",
];

describe("commands after shell parsing (R4.14)", () => {
	test.each(HIDDEN)("is seen: %j", (line) => expect(asks(line)).toBe(true));
	test.each(HARMLESS)("is let through: %j", (line) => expect(asks(line)).toBe(false));

	test("the words of a command are what the shell would pass", () => {
		expect(commandsIn("a 'b c'\"d\" \\e $x 2>f").commands).toEqual([{ words: ["a", "b cd", "e", "\0"] }]);
		expect(commandsIn("cat <<A; b\nx\nA").commands).toEqual([{ words: ["cat"], stdin: "x" }, { words: ["b"] }]);
	});

	test("arguments without a shell are not parsed", () => {
		expect(mayRun(PUSH, commandOf(["echo", "x; git push"]))).toBe(false);
		expect(mayRun(PUSH, commandOf(["git", "push"]))).toBe(true);
		expect(mayRun(PUSH, commandOf(["bash", "-c", "git push"]))).toBe(true);
	});

	test("commands in the variables that a call sets are seen", () => {
		const line = commandOf(["git", "log"]);
		expect(mayRun(PUSH, withVariables(line, { GIT_PAGER: "git push" }))).toBe(true);
		expect(mayRun(PUSH, withVariables(line, { GIT_PAGER: "'unclosed" }))).toBe(true);
		expect(mayRun(PUSH, withVariables(line, { GIT_PAGER: "cat", NOTE: "git push" }))).toBe(false);
		expect(mayRun(PUSH, commandOf(["env", "-i", "PAGER=git push", "man"]))).toBe(true);
		expect(mayRun(PUSH, withVariables(line, { BASH_ENV: "$(git push)" }))).toBe(true);
		expect(mayRun(PUSH, withVariables(line, { ENV: "`git push`" }))).toBe(true);
		expect(mayRun(PUSH, withVariables(line, { "BASH_FUNC_ls%%": "() { git push; }" }))).toBe(true);
		expect(mayRun(PUSH, withVariables(line, { BASH_ENV: "/home/a/.env", ENV: "$HOME/.rc" }))).toBe(false);
	});

	test("an allow rule needs every command to be certain", () => {
		const allows = (line: string) =>
			ruleFor([{ command: "git *", then: "allow" }], deed(line), { owner: "a", cwd: "/", env: {} }) !== null;
		const deed = (line: string) =>
			({ tool: "run", effect: "types", othersSession: false, line: commandsIn(line) }) as const;
		expect(["git status", "git add x; git commit"].map(allows)).toEqual([true, true]);
		expect(["git status; rm x", "git $x", "git $(rm x)", "$git", "git 'x", "PAGER=rm git log"].map(allows)).toEqual(
			Array(6).fill(false),
		);
	});

	test("a line that is made to take long counts as matching", () => {
		expect(asks(Array(900).fill("sudo").join(" "))).toBe(true);
		expect(asks(`${"$(".repeat(500)}x${")".repeat(500)}`)).toBe(true);
	});

	test("no text makes it fail, and a command stays visible between any two separators", () => {
		const shellish = fc.string({ unit: fc.constantFrom(..."ab$(){}`'\"\\;&|<>\n !#*[]=EOF") });
		fc.assert(
			fc.property(shellish, (text) => void asks(text)),
			{ numRuns: 2000 },
		);
		const word = fc.stringMatching(/^[a-z]{1,8}$/);
		const around = fc.tuple(word, fc.constantFrom("; ", " && ", " || ", " | ", " & ", "\n", " $(", " `"));
		fc.assert(fc.property(around, ([before, separator]) => asks(`${before}${separator}git push`)));
	});
});

describe("rules (R4.14)", () => {
	const caller = { owner: "mcp:a:1", cwd: "/", env: {} };
	const types = { tool: "send", effect: "types", othersSession: true, signal: undefined } as const;

	test("the first that matches counts, by owner, tool, effect, signal and whose session it is", () => {
		const of = (...rules: Parameters<typeof ruleFor>[0]) => ruleFor(rules, types, caller)?.then ?? null;
		expect(of()).toBe(null);
		expect(of({ owner: "mcp:*", then: "allow" }, { then: "deny" })).toBe("allow");
		expect(of({ owner: "cli", then: "deny" })).toBe(null);
		expect(of({ token: "ci", then: "deny" })).toBe(null);
		expect(of({ tool: "send", then: "ask" })).toBe("ask");
		expect(of({ tool: "types", then: "ask" })).toBe("ask");
		expect(of({ tool: "ends", then: "ask" })).toBe(null);
		expect(of({ othersSession: true, then: "deny" })).toBe("deny");
		expect(of({ command: "*", then: "deny" })).toBe(null);
		expect(of({ signal: "KILL", then: "deny" })).toBe(null);
		const kill = { ...types, effect: "ends", signal: "KILL" } as const;
		expect(ruleFor([{ signal: "SIGKILL", then: "deny" }], kill, caller)?.then).toBe("deny");
	});
});
