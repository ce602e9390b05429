# What zsh is told at its start: see init.bash, whose words these are. zsh parses
# an eval whole, so the start is marked twice (before it, and by its first line),
# and an `always` block marks the end of what could not be parsed.

# _dt_aid and _dt_end were read by .zshenv.
typeset -g _dt_dir=@DIR@ _dt_r= _dt_cwd= _dt_done=1 _dt_p= _DT=
typeset -gi _dt_n=0 _dt_s=0

_dt() {
	emulate -L zsh
	setopt no_xtrace
	_dt_r=$1
	_DT=$(<$_dt_dir/$1)
	_dt_p=$_dt_dir/$1.d
	[[ -z ${2-} ]] || $_dt_dir/streams streams $_dt_dir $1 <<<$_dt_end
	_dt_say C ";r=$_dt_r"
} 2>/dev/null

_dt_c() {
	emulate -L zsh
	_DT=
	_dt_say C ";r=$_dt_r"
	return $_dt_s
} 2>/dev/null

_dt_d() {
	emulate -L zsh
	setopt no_xtrace
	local -i s=$1
	shift
	[[ -n $_dt_r || -z $_dt_done ]] || return 0
	# After a trap has run, pipestatus is the trap's.
	(( $# > 1 )) || set -- $s
	_dt_s=$s _dt_done=1
	_dt_where
	_dt_say "D;$s" "${_dt_r:+;r=$_dt_r};pipe=${(j:,:)@};cwd=$_dt_cwd"
	_dt_r=
	return 0
}

_dt_w() {
	local -i s=$?
	emulate -L zsh
	[[ ! -p $_dt_p/done ]] || {
		builtin printf '\e]133;E;1;aid=%s;r=%s\a' "$_dt_end" "$1" >$_dt_p/1
		builtin printf '\e]133;E;2;aid=%s;r=%s\a' "$_dt_end" "$1" >$_dt_p/2
		builtin read -r -t 1 REPLY
	} <>$_dt_p/done
	return $s
} 2>/dev/null

_dt_say() {
	(( ++_dt_n ))
	builtin printf '\e]133;%s;aid=%s;n=%s%s\a' "$1" "$_dt_aid" "$_dt_n" "$2" >/dev/tty
}

_dt_where() {
	setopt local_options no_multibyte
	local c
	local -i i
	_dt_cwd=$PWD
	[[ $PWD == *[^A-Za-z0-9/._+@,:~-]* ]] || return 0
	_dt_cwd=
	for (( i = 1; i <= ${#PWD}; i++ )); do
		c=$PWD[i]
		[[ $c == [A-Za-z0-9/._-] ]] || builtin printf -v c %%%02X $(( #c & 255 ))
		_dt_cwd+=$c
	done
}

_dt_precmd() {
	local -i s=$?
	local -a pipe=("${pipestatus[@]}")
	emulate -L zsh
	setopt no_xtrace
	_dt_d $s $pipe
	_dt_done=
	local a="%{"$'\e]133;A;aid='$_dt_aid$'\a'"%}" b="%{"$'\e]133;B;aid='$_dt_aid$'\a'"%}"
	[[ $PROMPT == *$b ]] || PROMPT=$a$PROMPT$b
	typeset -g +x PROMPT
	return 0
}

_dt_preexec() {
	emulate -L zsh
	[[ $1 == ' _dt '* ]] || _dt_say C ''
}

# Keeps the typed line out of the history.
_dt_history() {
	emulate -L zsh
	[[ $1 != ' _dt '* ]] || return 1
}

@USER@
@PAGERS@
precmd_functions=(_dt_precmd ${precmd_functions:#_dt_precmd})
preexec_functions=(${preexec_functions:#_dt_preexec} _dt_preexec)
zshaddhistory_functions=(_dt_history ${zshaddhistory_functions:#_dt_history})
