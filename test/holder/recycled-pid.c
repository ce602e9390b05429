// Lists a child, ends it, gives its pid to another process, and signals what was listed. Exits with 0 if that was left alone.
// Linked with the holder's own tree-linux.c and proc-linux.c.
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../holder/proc.h"
#include "../../holder/tree.h"

static pid_t sleeper(pid_t wanted) {
	struct clone_args clone = {.exit_signal = SIGCHLD, .set_tid = wanted > 0 ? (__u64)(unsigned long)&wanted : 0, .set_tid_size = wanted > 0};
	pid_t pid = (pid_t)syscall(SYS_clone3, &clone, sizeof clone);
	for (; pid == 0;) pause();
	return pid;
}

int main(void) {
	struct member members[8];
	struct process first, second;
	bool complete;
	pid_t pid = sleeper(0);
	if (tree_list(getpid(), pid, members, 8, &complete) != 1 || members[0].pid != pid) return 2;
	proc_stat(pid, pid, &first);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	// The kernel counts start times in ticks: the next one must be another.
	do {
		if (sleeper(pid) != pid) return perror("clone3"), 3;
		proc_stat(pid, pid, &second);
		if (second.start == first.start) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
	} while (second.start == first.start);
	int refused = tree_signal(&members[0], SIGKILL);
	usleep(50000);
	bool lives = waitpid(pid, NULL, WNOHANG) == 0;
	printf("%s, errno %d\n", lives ? "lives" : "was killed", refused);
	kill(pid, SIGKILL);
	return lives ? 0 : 1;
}
