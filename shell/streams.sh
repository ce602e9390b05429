# Keeps 1 and 2 of one command apart and still shows both: each goes through a
# pipe to a file and to the terminal. The file first: who sees the end mark on
# the terminal may read the file. Started by the shell before such a command,
# and not waited for; interrupts are for the command, not for these.
#   sh streams.sh DIR AID RUN

umask 077
trap '' INT QUIT
set -e
dir=$1 aid=$2 run=$3
mkfifo -m 600 "$dir/$run.1" "$dir/$run.2"
[ -p "$dir/tick" ] || mkfifo -m 600 "$dir/tick"
for n in 1 2; do
	{
		tee -i /dev/tty <"$dir/$run.$n" >"$dir/$run.out$n"
		: >"$dir/$run.done$n"
		printf '\033]133;E;%s;aid=%s;r=%s\007' "$n" "$aid" "$run" >/dev/tty
	} </dev/null >/dev/null 2>&1 &
done
