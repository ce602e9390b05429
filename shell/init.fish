# What fish is told after its configuration: see init.bash, whose words these are.
# fish tells by events when a command begins and ends; a command of `run` also
# tells itself, on its last line, because only there $pipestatus is still its own.

set -g _DT @DIR@
read -g -d ' ' _dt_aid _dt_end <$_DT/nonce
true >$_DT/nonce
set -g _dt_n 0
set -g _dt_r ''
set -g _dt_s 0
set -g _dt_done 1
set -g _dt_p ''

function _dt_say
	set -g _dt_n (math $_dt_n + 1)
	printf '\e]133;%s;aid=%s;n=%s%s\a' $argv[1] $_dt_aid $_dt_n $argv[2] >/dev/tty
end

# Typed by run, before the command is parsed; C again on its first line, when what
# fish itself writes between the two is out.
function _dt
	set -g _dt_r $argv[1]
	set -g _dt_done ''
	set -g _dt_text (string collect <$_DT/$argv[1])
	set -g _dt_p $_DT/$argv[1].d
	test -z "$argv[2]"; or printf %s $_dt_end | $_DT/streams streams $_DT $argv[1] 2>/dev/null
	_dt_c
end

function _dt_c
	_dt_say C ";r=$_dt_r"
	return $_dt_s
end

function _dt_preexec --on-event fish_preexec
	string match -q -- ' _dt *' $argv[1]; and return
	set -g _dt_r ''
	set -g _dt_done ''
	_dt_say C ''
end

function _dt_d
	test -z "$_dt_done"; or return 0
	set -g _dt_done 1
	set -g _dt_s $argv[1]
	set -l run ''
	test -n "$_dt_r"; and set run ";r=$_dt_r"
	_dt_say "D;$_dt_s" "$run;pipe="(string join , -- $argv[2..-1])";cwd="(string escape --style=url -- $PWD)
	set -g _dt_r ''
end

function _dt_w
	set -l s $status
	if test -p $_dt_p/done
		begin
			printf '\e]133;E;1;aid=%s;r=%s\a' $_dt_end $argv[1] >$_dt_p/1
			printf '\e]133;E;2;aid=%s;r=%s\a' $_dt_end $argv[1] >$_dt_p/2
			read -l copied
		end <$_dt_p/done
	end
	return $s
end

function _dt_postexec --on-event fish_postexec
	set -l codes $status $pipestatus
	_dt_d $codes
end

@PAGERS@

functions -q fish_prompt; or function fish_prompt
	printf '> '
end

# Before each prompt: whoever defines fish_prompt anew gets it wrapped again.
function _dt_wrap --on-event fish_prompt
	functions fish_prompt | string match -q '*_dt_fish_prompt*'; and return
	functions -e _dt_fish_prompt
	functions -c fish_prompt _dt_fish_prompt
	function fish_prompt
		printf '\e]133;A;aid=%s\a' $_dt_aid
		_dt_fish_prompt
		printf '\e]133;B;aid=%s\a' $_dt_aid
	end
end
_dt_wrap
