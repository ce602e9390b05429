// Linux: a holder or a daemon inside a session leaves it. See tree.h.
//
// A signal from anybody inside would do to escape the end of the session, so who asks has to be a process of the holder's
// own program, named by the kernel, and asks for its parent: a holder hides what it runs (it is not dumpable), and a daemon
// runs node. Who starts that program can leave with it, as with a session of its own; what has left is told at the end.
#include "leaving.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "identity.h"
#include "os.h"
#include "proc.h"
#include "tree.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define LEFT_MOST 256 // the first: whoever leaves after so many is not let go
#define ANSWER_S 2    // a holder answers within a turn of its loop, or a look of 1 s

static struct {
	pid_t pid;
	unsigned long long start;
} left[LEFT_MOST];
static size_t left_count;

// One that is held up is taken for the one it was: to end it by mistake would be worse.
static bool has_left(size_t i, struct process *process) {
	if (!identity_status(left[i].pid, process) || process->state == 'Z') return false;
	enum identity_known known = identity_start(left[i].pid, &process->start);
	if (known == IDENTITY_HELD_UP) process->start = left[i].start;
	return known != IDENTITY_GONE && process->start == left[i].start;
}

bool leaving_is_let_go(pid_t pid) {
	struct process process;
	for (size_t i = 0; i < left_count; i++)
		if (left[i].pid == pid && has_left(i, &process)) return true;
	return false;
}

bool leaving_any(void) {
	struct process process;
	for (size_t i = 0; i < left_count; i++)
		if (has_left(i, &process)) return true;
	return false;
}

size_t tree_released(struct member *members, size_t most) {
	struct process process;
	size_t count = 0;
	for (size_t i = 0; i < left_count && count < most; i++) {
		if (!has_left(i, &process)) continue;
		members[count] = (struct member){.pid = process.pid, .parent = process.parent, .start = process.start};
		snprintf(members[count++].command, sizeof members->command, "%.19s", process.name);
	}
	return count;
}

static void let_go(const struct process *process) {
	struct process other;
	size_t place = 0;
	while (place < left_count && has_left(place, &other) && left[place].pid != process->pid) place++; // or where one was that is gone
	if (place == LEFT_MOST) return;
	left[place].pid = process->pid, left[place].start = process->start;
	if (place == left_count) left_count++;
}

static bool runs_our_program(pid_t pid) {
	struct identity both[] = {{.pid = pid, .of_program = true}, {.pid = getpid(), .of_program = true}};
	identity_ask(both, 2);
	const struct opened *its = &both[0].program, *ours = &both[1].program;
	return both[0].known == IDENTITY_KNOWN && both[1].known == IDENTITY_KNOWN && its->inode == ours->inode && its->system == ours->system;
}

void tree_asked(const siginfo_t *info) {
	// Only of kill(2) is the sender known: what sigqueue(3) says of it is the sender's own word.
	if (info->si_code != SI_USER) return;
	pid_t pid = info->si_pid;
	struct process asker, parent;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0) return;
	bool asks = runs_our_program(pid) && identity_status(pid, &asker) && asker.parent > 1 && asker.parent != getpid() &&
	            identity_status(asker.parent, &parent) && identity_start(asker.parent, &parent.start) == IDENTITY_KNOWN;
	// All of that was its own, and its parent's, if it still lives and has that parent.
	struct pollfd ended = {.fd = fd, .events = POLLIN};
	struct process after;
	asks = asks && identity_status(pid, &after) && after.parent == parent.pid && poll(&ended, 1, 0) == 0;
	if (asks) {
		let_go(&parent);
		syscall(SYS_pidfd_send_signal, fd, LEAVE_SIGNAL, NULL, 0);
	}
	close(fd);
}

// --- the other side ------------------------------------------------------------------------------------

// The next holder above that process which knows the signal (an older one would die of it); 0: there is none.
static pid_t holder_above(pid_t pid) {
	struct process process;
	if (!identity_status(pid, &process)) return 0;
	for (pid = process.parent; pid > 1 && identity_status(pid, &process); pid = process.parent)
		if (strcmp(process.name, "dialtone-holder") == 0 && tree_disposition(pid, LEAVE_SIGNAL) == DISPOSITION_CAUGHT) return pid;
	return 0;
}

void tree_leave(void) {
	if (holder_above(getpid()) == 0) return;
	// Another program image: this one's memory has the secret, and so hides what it runs.
	if (fork() != 0) return;
	os_close_from(3);
	execl("/proc/self/exe", "dialtone-holder", "leave", (char *)NULL);
	_exit(1);
}

int tree_leave_main(void) {
	sigset_t answer;
	sigemptyset(&answer);
	sigaddset(&answer, LEAVE_SIGNAL);
	signal(LEAVE_SIGNAL, SIG_DFL);
	sigprocmask(SIG_BLOCK, &answer, NULL);
	int refused = 0;
	for (pid_t above = holder_above(getppid()); above != 0; above = holder_above(above)) {
		struct timespec most = {.tv_sec = ANSWER_S};
		refused |= kill(above, LEAVE_SIGNAL) != 0 || sigtimedwait(&answer, NULL, &most) < 0;
	}
	return refused;
}
