// What a descriptor of another process is open on. See blocked.h.
//
// Devices are compared, never paths, so it holds across mount and PID
// namespaces. Sockets are the dear part (/proc/net has no index), so what a
// socket turned out to be is remembered by its inode.

#include "blocked.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

// Enough for real event loops; of a process with more descriptors only some are read.
enum { MAX_DESCRIPTORS = 256, REMEMBERED_SOCKETS = 64 };

unsigned terminal_number(dev_t device) {
	unsigned high = major(device), low = minor(device);
	return (low & 0xff) | (high << 8) | ((low & ~0xffu) << 12);
}

// --- pipes and socket pairs that a process keeps to wake itself -----------------

struct twin {
	const struct stat *of;
	int fd;
	bool found;
};

static void look_for_twin(void *context, pid_t pid, int fd) {
	struct twin *twin = context;
	struct stat other;
	if (twin->found || fd == twin->fd || !proc_descriptor(pid, fd, &other))
		return;
	if ((other.st_mode & S_IFMT) != (twin->of->st_mode & S_IFMT))
		return;
	if (S_ISSOCK(other.st_mode)) {
		// socketpair() numbers its two ends one after the other.
		ino_t a = other.st_ino, b = twin->of->st_ino;
		twin->found = a + 1 == b || b + 1 == a;
	} else if (other.st_ino == twin->of->st_ino && other.st_dev == twin->of->st_dev) {
		twin->found = proc_descriptor_writes(pid, fd);
	}
}

static bool has_both_ends(pid_t pid, int fd, const struct stat *of) {
	struct twin twin = {of, fd, false};
	proc_descriptors(pid, MAX_DESCRIPTORS, look_for_twin, &twin);
	return twin.found;
}

// --- listening sockets -------------------------------------------------------------

static bool listening_in(pid_t pid, const char *table, const char *format, unsigned want, unsigned long inode) {
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, table);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	bool found = false;
	while (!found && fgets(line, sizeof line, file) != NULL) {
		unsigned state;
		unsigned long seen;
		if (sscanf(line, format, &state, &seen) == 2 && seen == inode) {
			found = (state & want) == want;
			break;
		}
	}
	fclose(file);
	return found;
}

static const struct {
	const char *name, *format;
	unsigned listening;
} socket_tables[] = {
	{"tcp", " %*s %*s %*s %x %*s %*s %*s %*s %*s %lu", 0x0a},
	{"tcp6", " %*s %*s %*s %x %*s %*s %*s %*s %*s %lu", 0x0a},
	{"unix", " %*s %*s %*s %x %*s %*s %lu", 0x10000},
};

static enum descriptor socket_kind(pid_t pid, int fd, const struct stat *of) {
	static struct {
		ino_t inode;
		pid_t pid;
		enum descriptor kind;
	} remembered[REMEMBERED_SOCKETS];
	static unsigned next;

	for (unsigned i = 0; i < REMEMBERED_SOCKETS; i++)
		if (remembered[i].inode == of->st_ino && remembered[i].pid == pid)
			return remembered[i].kind;
	enum descriptor kind = FD_OUTSIDE;
	if (has_both_ends(pid, fd, of))
		kind = FD_WAKE;
	for (unsigned i = 0; kind == FD_OUTSIDE && i < sizeof socket_tables / sizeof *socket_tables; i++)
		if (listening_in(pid, socket_tables[i].name, socket_tables[i].format, socket_tables[i].listening,
		                 (unsigned long)of->st_ino))
			kind = FD_LISTEN;
	unsigned slot = next++ % REMEMBERED_SOCKETS;
	remembered[slot].inode = of->st_ino;
	remembered[slot].pid = pid;
	remembered[slot].kind = kind;
	return kind;
}

// --- all of it ------------------------------------------------------------------------

static enum descriptor anonymous_kind(pid_t pid, int fd) {
	static const struct {
		const char *name;
		enum descriptor kind;
	} kinds[] = {
		{"[eventpoll]", FD_EPOLL}, {"[timerfd]", FD_TIMER}, {"[eventfd]", FD_WAKE},
		{"[signalfd]", FD_WAKE},   {"inotify", FD_WAKE},
	};
	char link[64];
	proc_descriptor_link(pid, fd, link, sizeof link);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strstr(link, kinds[i].name) != NULL)
			return kinds[i].kind;
	return FD_OUTSIDE;
}

enum descriptor descriptor_kind(const struct process *process, int fd, const struct terminal *terminal) {
	struct stat of;
	if (!proc_descriptor(process->pid, fd, &of))
		return FD_GONE;
	switch (of.st_mode & S_IFMT) {
	case S_IFCHR:
		if (of.st_rdev == terminal->device)
			return terminal->instance == 0 || of.st_dev == terminal->instance ? FD_TERMINAL : FD_OUTSIDE;
		if (of.st_rdev == makedev(5, 0)) // /dev/tty: whatever controls the process
			return process->terminal == terminal->number ? FD_TERMINAL : FD_OUTSIDE;
		return of.st_rdev == makedev(5, 2) ? FD_MASTER : FD_OUTSIDE;
	case S_IFIFO:
		return has_both_ends(process->pid, fd, &of) ? FD_WAKE : FD_OUTSIDE;
	case S_IFSOCK:
		return socket_kind(process->pid, fd, &of);
	case 0:
		return anonymous_kind(process->pid, fd);
	default:
		return FD_OUTSIDE;
	}
}
