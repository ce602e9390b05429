// Everything the session started and that still lives.
#ifndef DIALTONE_TREE_H
#define DIALTONE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct member {
	pid_t pid;
	char command[20];
};

// The living descendants of `root` (not itself, no zombies). Bounded: to end them all, repeat until none is left.
size_t tree_list(pid_t root, pid_t main_pid, struct member *members, size_t most);

// Does this process ignore the signal? False if unknown.
bool tree_ignores(pid_t pid, int signal);

#endif
