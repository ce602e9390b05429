// Linux: the holder is a subreaper, so whatever leaves by setsid or a double fork
// comes back as its child. The kernel lists children per thread.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree.h"

static ssize_t slurp(const char *path, char *out, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return -1;
	size_t used = 0;
	ssize_t got;
	while (used < size - 1 && (got = read(fd, out + used, size - 1 - used)) > 0) used += (size_t)got;
	close(fd);
	out[used] = '\0';
	return (ssize_t)used;
}

// Its name, and whether it lives; a zombie only waits to be reaped.
static int lives(pid_t pid, char command[20]) {
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	command[0] = '\0';
	// hidepid hides set-uid programs altogether; a signal still finds them.
	if (slurp(path, line, sizeof line) <= 0) return kill(pid, 0) == 0 || errno == EPERM;
	char *open = strchr(line, '('), *close = strrchr(line, ')');
	if (open == NULL || close == NULL || close < open || close[1] == '\0') return 0;
	*close = '\0';
	snprintf(command, 20, "%.19s", open + 1);
	return close[2] != 'Z' && close[2] != 'X';
}

// Adds the children that one thread started; all of them, zombies too, for their number is the walk's queue.
static size_t add_children(pid_t pid, const char *tid, struct member *members, size_t count, size_t most) {
	char path[96], chunk[4096];
	snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return count;
	long number = 0;
	ssize_t got;
	while ((got = read(fd, chunk, sizeof chunk)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (isdigit((unsigned char)chunk[i])) number = number * 10 + (chunk[i] - '0');
			else if (number > 0) {
				if (count < most) members[count++] = (struct member){.pid = (pid_t)number};
				number = 0;
			}
		}
	}
	close(fd);
	return count;
}

size_t tree_list(pid_t root, pid_t main_pid, struct member *members, size_t most) {
	(void)main_pid;
	size_t count = 0;
	pid_t pid = root;
	for (size_t at = 0;; at++) {
		char path[64];
		snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
		DIR *tasks = opendir(path);
		for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;)
			if (isdigit((unsigned char)task->d_name[0])) count = add_children(pid, task->d_name, members, count, most);
		if (tasks != NULL) closedir(tasks);
		if (at == count) break;
		pid = members[at].pid;
	}
	size_t living = 0;
	for (size_t i = 0; i < count; i++)
		if (lives(members[i].pid, members[i].command)) members[living++] = members[i];
	return living;
}

bool tree_ignores(pid_t pid, int signal) {
	char path[64], status[4096];
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (slurp(path, status, sizeof status) <= 0) return false;
	const char *line = strstr(status, "\nSigIgn:");
	return line != NULL && (strtoull(line + 8, NULL, 16) >> (signal - 1) & 1) != 0;
}
