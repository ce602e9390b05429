# What dash and other plain shells are told at their start: see init.bash, whose
# words these are. There is no hook before the prompt, so a command that was
# broken off is known by the `$?` that the prompt carries; and no pipe status.

_DT=@DIR@ _dt_n=0 _dt_r='' _dt_s=0
read -r _dt_aid _dt_end <"$_DT/nonce"
: >|"$_DT/nonce"
unset ENV

# After a command that ended by itself the shell's own $? is 0: then the one that was told counts.
_dt_c() {
	_dt_i=$?
	[ "$_dt_i" = 0 ] || _dt_s=$_dt_i
	_dt_r=$1
	_dt_say C "$_dt_r"
	return "$_dt_s"
} 2>/dev/null

_dt_d() {
	_dt_s=$1
	case $PWD in
	*[!A-Za-z0-9/._+@,:~-]*) _dt_say "D;$1" "$_dt_r" ;;
	*) _dt_say "D;$1" "$_dt_r;cwd=$PWD" ;;
	esac
}

# Starts the helper that copies the streams of this and later runs.
_dt_h() {
	"$_DT/streams" streams "$_DT" "$1" <<-END
		$_dt_end
	END
} 2>/dev/null

_dt_w() {
	_dt_q=$?
	[ ! -p "$_DT/$1.d/done" ] || {
		printf '\033]133;E;1;aid=%s;r=%s\007' "$_dt_end" "$1" >"$_DT/$1.d/1"
		printf '\033]133;E;2;aid=%s;r=%s\007' "$_dt_end" "$1" >"$_DT/$1.d/2"
		read -r _dt_i
	} <"$_DT/$1.d/done"
	return "$_dt_q"
} 2>/dev/null

_dt_say() {
	_dt_n=$((_dt_n + 1))
	printf '\033]133;%s;aid=%s;n=%s;r=%s\007' "$1" "$_dt_aid" "$_dt_n" "$2" >/dev/tty
}

@USER@
@PAGERS@
PS1="$(printf '\033]133;A;aid=%s\007' "$_dt_aid")${PS1-\$ }$(printf '\033]133;B;aid=%s;s=' "$_dt_aid")"'$?'"$(printf '\007')"
