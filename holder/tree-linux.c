// Linux: the holder is a subreaper, so whatever leaves by setsid or a double fork
// comes back as its child. The kernel lists children per thread; where it does not
// (CONFIG_PROC_CHILDREN, hidepid, a mount) all of /proc is searched by parent, and
// without /proc there are the main program and its session. Whether there is any
// child at all is known from wait(2), whatever /proc shows.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "identity.h"
#include "leaving.h"
#include "proc.h"
#include "tree.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define PROCESSES_MOST 65536
#define PID_LIMIT 4194304 // of every kernel; the actual one is in /proc

struct list {
	pid_t main_pid;
	struct member *members;
	size_t count, most;
	bool complete;
};

static bool exists(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

static bool is_listed(const struct list *list, pid_t pid) {
	for (size_t i = 0; i < list->count; i++)
		if (list->members[i].pid == pid) return true;
	return false;
}

static void add(struct list *list, pid_t pid, pid_t parent) {
	if (pid != list->main_pid && leaving_is_let_go(pid)) return; // the main program is what END is for
	if (list->count == list->most) list->complete = false;
	else list->members[list->count++] = (struct member){.pid = pid, .parent = parent};
}

// Adds the children that one thread started; all of them, zombies too, for the list is also the walk's queue.
static void add_children(struct list *list, pid_t pid, const char *tid) {
	char path[96], chunk[4096];
	snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		*strrchr(path, '/') = '\0'; // a thread may have exited; one that has not has children we cannot see
		if (access(path, F_OK) == 0) list->complete = false;
		return;
	}
	long number = 0;
	ssize_t got;
	while ((got = read(fd, chunk, sizeof chunk)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (isdigit((unsigned char)chunk[i])) number = number * 10 + (chunk[i] - '0');
			else if (number > 0) add(list, (pid_t)number, pid), number = 0;
		}
	}
	close(fd);
}

static void walk(struct list *list, pid_t root) {
	pid_t pid = root;
	for (size_t at = 0;; at++) {
		char path[64];
		bool threads = false;
		snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
		DIR *tasks = opendir(path);
		for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;)
			if (isdigit((unsigned char)task->d_name[0])) threads = true, add_children(list, pid, task->d_name);
		if (tasks != NULL) closedir(tasks);
		if (!threads && exists(pid)) list->complete = false;
		if (at == list->count) return;
		pid = list->members[at].pid;
	}
}

static struct {
	struct {
		pid_t pid, parent;
	} each[PROCESSES_MOST];
	size_t count;
} processes;

static void note_process(void *context, pid_t pid, int number) {
	struct process process;
	(void)context, (void)pid;
	if (processes.count == PROCESSES_MOST || !identity_status(number, &process)) return;
	processes.each[processes.count].pid = number;
	processes.each[processes.count++].parent = process.parent;
}

// Adds the descendants of the root and of all who are listed already.
static void search(struct list *list, pid_t root) {
	proc_processes(note_process, NULL);
	pid_t parent = root;
	for (size_t at = 0;; at++) {
		for (size_t i = 0; i < processes.count; i++)
			if (processes.each[i].parent == parent && !is_listed(list, processes.each[i].pid)) add(list, processes.each[i].pid, parent);
		if (at == list->count) return;
		parent = list->members[at].pid;
	}
}

// The pid that a new process gets: pids are given in order, so those of the session are between the holder's and this one.
static pid_t newest_pid(void) {
	pid_t pid = fork();
	if (pid == 0) _exit(0);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
	return pid;
}

// Without /proc the session can still be told. Only while its leader was not reaped: its number is not another's yet.
static void add_session(struct list *list, pid_t root, pid_t leader) {
	if (leader <= 0) return;
	pid_t newest = newest_pid();
	if (newest < root) newest = PID_LIMIT; // they have wrapped around, or the fork failed
	for (pid_t pid = newest < PID_LIMIT ? root : 2; pid < newest; pid++)
		if (getsid(pid) == leader) add(list, pid, 0);
}

// Whether it lives; a zombie only waits to be reaped, unless it is the first thread of a process that goes on without it.
static bool lives(struct member *member) {
	struct process process;
	member->hidden = !identity_status(member->pid, &process);
	if (member->hidden) return exists(member->pid); // a signal still finds it
	snprintf(member->command, sizeof member->command, "%.19s", process.name);
	return (process.state != 'Z' && process.state != 'X') || process.threads > 1;
}

enum children { CHILDREN_NONE, CHILDREN_TO_REAP, CHILDREN_LIVE };

static enum children own_children(void) {
	siginfo_t child = {.si_pid = 0};
	if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return errno == ECHILD ? CHILDREN_NONE : CHILDREN_LIVE;
	return child.si_pid != 0 ? CHILDREN_TO_REAP : CHILDREN_LIVE;
}

static bool has_living_child(const struct list *list, pid_t root) {
	for (size_t i = 0; i < list->count; i++)
		if (list->members[i].parent == root && lives(&list->members[i])) return true;
	return false;
}

// By a number that the kernel gives nobody twice, or by when it started. What is neither is told by nothing but its pid.
static void identify(struct member *members, size_t count) {
	bool every = true;
	for (size_t i = 0; i < count; i++) {
		int fd = (int)syscall(SYS_pidfd_open, members[i].pid, 0);
		members[i].unique = fd >= 0 ? identity_of_pidfd(fd) : 0;
		if (fd >= 0) close(fd);
		every &= members[i].unique != 0;
	}
	if (!every) tree_starts(members, count);
}

void tree_starts(struct member *members, size_t count) {
	enum { AT_ONCE = 64 };
	for (size_t from = 0; from < count; from += AT_ONCE) {
		struct identity identities[AT_ONCE];
		size_t some = count - from < AT_ONCE ? count - from : AT_ONCE;
		for (size_t i = 0; i < some; i++) identities[i] = (struct identity){.pid = members[from + i].pid};
		identity_ask(identities, some);
		for (size_t i = 0; i < some; i++) members[from + i].start = identities[i].start;
	}
}

static bool is_another(const struct member *member, int pidfd) {
	unsigned long long start;
	if (pidfd >= 0 && member->unique != 0) return identity_of_pidfd(pidfd) != member->unique;
	return member->start != 0 && (identity_start(member->pid, &start) != IDENTITY_KNOWN || start != member->start);
}

size_t tree_list(pid_t root, pid_t main_pid, struct member *members, size_t most, bool *complete) {
	struct list list = {.main_pid = main_pid, .members = members, .most = most, .complete = true};
	*complete = true;
	processes.count = 0;
	if (own_children() == CHILDREN_NONE) return 0;
	walk(&list, root);
	// A list without a living child, although the kernel knows one, is not all.
	if (!list.complete || (!has_living_child(&list, root) && !leaving_any() && own_children() == CHILDREN_LIVE)) {
		search(&list, root);
		if (processes.count == 0) add_session(&list, root, main_pid);
	}
	*complete = list.count < most && processes.count < PROCESSES_MOST && (has_living_child(&list, root) || leaving_any() || own_children() == CHILDREN_NONE);
	size_t living = 0;
	for (size_t i = 0; i < list.count; i++) {
		if (!lives(&members[i])) continue;
		if (members[i].hidden) *complete = false; // and its children with it
		members[living++] = members[i];
	}
	identify(members, living);
	return living;
}

int tree_signal(const struct member *member, int signal) {
	int fd = (int)syscall(SYS_pidfd_open, member->pid, 0);
	if (fd < 0 && errno == ESRCH) return ESRCH;
	// Looked at after it was opened: what has this start time now is what was opened, and what was listed.
	bool other = is_another(member, fd);
	int error = other ? ESRCH : 0;
	if (!other && (fd < 0 ? kill(member->pid, signal) : (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0)) != 0) error = errno;
	if (fd >= 0) close(fd);
	return error;
}

static bool has_signal(const char *status, const char *field, int signal) {
	const char *line = strstr(status, field);
	return line != NULL && (strtoull(line + strlen(field), NULL, 16) >> (signal - 1) & 1) != 0;
}

enum disposition tree_disposition(pid_t pid, int signal) {
	char status[4096];
	if (proc_text(pid, "status", status, sizeof status) <= 0 || strstr(status, "\nSigCgt:") == NULL) return DISPOSITION_UNKNOWN;
	if (has_signal(status, "\nSigIgn:", signal)) return DISPOSITION_IGNORED;
	return has_signal(status, "\nSigCgt:", signal) ? DISPOSITION_CAUGHT : DISPOSITION_DEFAULT;
}
