#!/bin/busybox sh
# The first process of the machine: runs every case of /cases and says on the console what became of it.
# What that has to be is in cases.ts. A line of ours begins with @.
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /proc /sys /dev /tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+memory +pids +cpu" >/sys/fs/cgroup/cgroup.subtree_control
slice=/sys/fs/cgroup/slice
mkdir $slice
echo "+memory +pids +cpu" >$slice/cgroup.subtree_control
echo
echo "@ machine controllers $(cat $slice/cgroup.controllers)"

# until SECONDS COMMAND…: whether it succeeded in time.
until_() {
	left=$(($1 * 20))
	shift
	while ! "$@" 2>/dev/null; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.05
	done
}

is_gone() { ! [ -d /proc/"$1" ]; }
tell() { echo "@ $name $*"; }

for case in /cases/*; do
	name=${case##*/}
	dir=/tmp/$name
	group=$slice/$name
	during=
	expects_none=
	user=
	# shellcheck disable=SC1090
	. "$case/settings" # the three above
	mkdir -m 777 "$dir" "$group"
	mkfifo -m 666 "$dir/go"
	if [ -n "$user" ]; then
		chown 65534:65534 "$dir" "$group" "$group/cgroup.procs" "$group/cgroup.subtree_control"
		answer=$(guest as-nobody /bin/dialtone-holder <"$case/block")
	else
		guest mark "$group"
		answer=$(dialtone-holder <"$case/block")
	fi
	holder=$(echo "$answer" | sed -n 's/.*"holder":\([0-9]*\).*/\1/p')
	program=$(echo "$answer" | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
	if [ -z "$holder" ]; then
		tell failed "$answer"
		continue
	fi
	# As systemd gives a scope: to processes that run already.
	[ -z "$expects_none" ] || { sleep 600 & stranger=$!; echo $stranger >"$group/cgroup.procs"; }
	echo "$holder" >"$group/cgroup.procs"
	echo "$program" >"$group/cgroup.procs"
	programs=$group/programs-$holder
	if until_ "${expects_none:-20}" grep -q . "$programs/cgroup.procs"; then
		until_ 20 test -e "$programs/pids.max" # what is passed on is passed on after all have been moved …
		until_ 1 grep -q "[0-9]" "$programs/memory.max" "$programs/pids.max" # … and set at once, where there is such a limit
		tell memory.max "$(cat "$programs/memory.max")"
		tell pids.max "$(cat "$programs/pids.max")"
		tell oom.group "$(cat "$programs/memory.oom.group")"
		tell own "$(cat "$group/cgroup.procs" | wc -l)"
	else
		tell unbounded
	fi
	$during
	timeout 20 sh -c "echo >$dir/go" || tell not-started
	until_ 90 is_gone "$holder" || tell holder-stays
	tell exit "$(cat "$dir/exit")"
	tell had "$(cat "$dir"/out.* | tr -d '\r' | sed -n 's/^had //p' | tail -n 1)"
	tell left "$(ls -d "$group"/*-* 2>/dev/null | tr '\n' ' ')"
	[ -z "$expects_none" ] || kill -9 "$stranger"
	sync
done
dmesg | sed -n 's/.*oom-kill:constraint=\([^,]*\).*task_memcg=\([^,]*\).*/@ machine oom \1 \2/p'
echo "@ machine done"
reboot -f
