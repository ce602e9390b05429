# What bash is told at its start, so that commands can be handed to it whole
# and their ends are known for certain. @WORDS@ are filled in by
# src/session/shell/shells.ts; docs/shell.md says why it is done this way.
#
# All is defined before the user's own files run, so that no alias of theirs can
# change how it is parsed. Each function first makes itself immune to
# `set -e -u -x -a -f` (`local -`). Marks go to /dev/tty, because a command may
# have redirected 1 and 2 for good.

_dt_dir=@DIR@ _dt_aid= _dt_end= _dt_n=0 _dt_r= _dt_s=0 _dt_cwd= _dt_done=1 _dt_p=
# The nonces of the marks and of the streams' ends, before any other program runs. They are in no file after that: a new bash
# in this process (_dt_exit) gets them through a descriptor.
if [[ -s $_dt_dir/state ]]; then
	IFS=' ' read -r _dt_aid _dt_end <&9
	exec 9<&-
else
	IFS=' ' read -r _dt_aid _dt_end <"$_dt_dir/nonce"
	: >|"$_dt_dir/nonce"
fi
_dt_first='{ _dt_prompt "$?" "${PIPESTATUS[@]}"; } 2>/dev/null'
_dt_last='{ _dt_wrap; } 2>/dev/null'
_dt_a="\\[\\e]133;A;aid=$_dt_aid\\a\\]"
_dt_b="\\[\\e]133;B;aid=$_dt_aid;s=\$?\\a\\]"
_dt_0="\\e]133;C;aid=$_dt_aid\\a"

# Typed by `run`: fetches the command, so that the typed line can eval it. With streams apart, $_dt_p is
# the directory of their pipes; a second argument says that the helper behind them has to be started.
_dt() {
	local -
	set +aefuvx
	IFS= read -r -d '' _DT <"$_dt_dir/$1"
	_dt_p=$_dt_dir/$1.d
	[[ -z ${2-} ]] || "$_dt_dir/streams" streams "$_dt_dir" "$1" <<<"$_dt_end"
	return 0
} 2>/dev/null

# The first line of a command: what was traced or trapped until now is not its output.
_dt_c() {
	local s=$_dt_s -
	set +aefuvx
	unset -v _DT
	_dt_r=$1
	_dt_hook
	_dt_say C ";r=$_dt_r"
	return "$s"
} 2>/dev/null

# The last line of a command, with $? and the status of each part of its last pipe.
_dt_d() {
	local - pipe
	set +aefuvx
	_dt_s=$1 _dt_done=1
	shift
	# One code says nothing that $? does not, and `job &` leaves the one of the command before.
	(($# > 1)) || set -- "$_dt_s"
	builtin printf -v pipe ',%s' "$@"
	_dt_where
	_dt_say "D;$_dt_s" "${_dt_r:+;r=$_dt_r};pipe=${pipe#,};cwd=$_dt_cwd"
	_dt_r=
}

# After a command with streams apart: puts the end marks into both, and waits until they have been copied, so that
# the prompt comes after them. Not for ever: the helper may have been killed.
_dt_w() {
	local s=$? -
	set +aefuvx
	[[ ! -p $_dt_p/done ]] || {
		builtin printf '\e]133;E;1;aid=%s;r=%s\a' "$_dt_end" "$1" >"$_dt_p/1"
		builtin printf '\e]133;E;2;aid=%s;r=%s\a' "$_dt_end" "$1" >"$_dt_p/2"
		builtin read -r -t 1
	} <>"$_dt_p/done"
	return "$s"
} 2>/dev/null

_dt_say() {
	_dt_n=$((_dt_n + 1))
	builtin printf '\e]133;%s;aid=%s;n=%s%s\a' "$1" "$_dt_aid" "$_dt_n" "$2" >/dev/tty
}

# The working directory, percent-encoded where a mark could not carry it.
_dt_where() {
	local LC_ALL=C i c code
	_dt_cwd=$PWD
	[[ $PWD == *[!A-Za-z0-9/._+@,:~-]* ]] || return 0
	_dt_cwd=
	for ((i = 0; i < ${#PWD}; i++)); do
		c=${PWD:i:1}
		if [[ $c == [!A-Za-z0-9/._-] ]]; then
			builtin printf -v code %d "'$c"
			builtin printf -v c %%%02X "$((code & 255))"
		fi
		_dt_cwd+=$c
	done
}

# Before each prompt, first. A command that was broken off (Ctrl+C, an unset
# variable, a syntax error) never reached its last line; a person's has none.
_dt_prompt() {
	local -
	set +aefuvx
	[[ -z $_dt_r && -n $_dt_done ]] || _dt_d "$@"
	_dt_done=
	return 0
}

# Before each prompt, last: prompt frameworks write PS1 anew each time. An
# exported prompt would hand the nonce to every program.
_dt_wrap() {
	local -
	set +aefuvx
	[[ $PS1 == *"$_dt_b" ]] || PS1="$_dt_a$PS1$_dt_b"
	[[ ${PS0-} == "$_dt_0"* ]] || PS0="$_dt_0${PS0-}"
	export -n PS1 PS0
	return 0
}

# Installs the two, again if a command threw them out.
_dt_hook() {
	local all=() it
	if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
		for it in "${PROMPT_COMMAND[@]}"; do
			[[ -z $it || $it == "$_dt_first" || $it == "$_dt_last" ]] || all+=("$it")
		done
		PROMPT_COMMAND=("$_dt_first" "${all[@]}" "$_dt_last")
	elif [[ ${PROMPT_COMMAND-} != "$_dt_first"*"$_dt_last" ]]; then
		PROMPT_COMMAND="$_dt_first;${PROMPT_COMMAND:+$PROMPT_COMMAND;}$_dt_last"
	fi
	[[ ${HISTIGNORE-} == *' _dt '* ]] || HISTIGNORE="${HISTIGNORE:+$HISTIGNORE:} _dt *"
}

# `set -e` ends an interactive shell at the first failure. A session must not lose
# its state over that: the same process becomes a new bash that remembers.
_dt_exit() {
	local _dt_code=$? _dt_at=$BASH_COMMAND _dt_flags=$- _dt_keep
	[[ $_dt_flags == *e* && -n $_dt_r && $_dt_at != exit* && $_dt_at != logout* ]] || return "$_dt_code"
	# Not "history": it would remember the very lines that restore the state.
	_dt_keep=$(set +o | grep -v " history$"; shopt -p)
	set +aefuvx
	{
		declare -p | grep -Ev '^declare -[A-Za-z]*r|^declare -[^ ]+ (_dt[^ =]*|_DT|BASH[A-Z_]*|FUNCNAME|PIPESTATUS|PPID|UID|EUID|GROUPS|DIRSTACK|SHLVL|LINENO|_)(=|$)'
		declare -f
		alias -p
		trap -p | grep -v ' EXIT$'
		builtin printf 'umask %s\n_dt_n=%s\n_dt_s=%s\n%s\n' "$(umask)" "$((_dt_n + 1))" "$_dt_code" "$_dt_keep"
		# The subshell above did not inherit -e.
		builtin printf 'set -e\n'
	} >"$_dt_dir/state"
	_dt_d "$_dt_code" "$_dt_code"
	[[ ! -p $_dt_p/1 ]] || exec >/dev/tty
	exec "$BASH" --init-file "$_dt_dir/init.bash" -i 2>/dev/tty 9<<<"$_dt_aid $_dt_end"
} 2>/dev/null

if [[ -s $_dt_dir/state ]]; then
	. "$_dt_dir/state" 2>/dev/null
	: >|"$_dt_dir/state"
else
	@USER@
	@PAGERS@
fi
_dt_hook
[[ -n $(trap -p EXIT) ]] || trap _dt_exit EXIT
