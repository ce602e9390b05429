// Killing by the kernel's own list of who is there, where it lends us one.
#ifndef DIALTONE_CGROUP_H
#define DIALTONE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "tree.h"

// Kills those of the listed that it can, with everything that they start meanwhile, whoever's they are. Nothing is
// promised: they are to be signalled all the same.
void cgroup_kill(const struct member *members, size_t count);
// When ending is over: removes what that made.
void cgroup_remove(void);

// For controllers-linux.c: the path of the holder's cgroup (version 2), its directory (-1: not to be had), whether it
// may be changed, and a file in it written.
#define CGROUP_PATH 4096
bool cgroup_path(char path[CGROUP_PATH]);
int cgroup_open(const char *path);
int cgroup_open_below(int directory, const char *name);
bool cgroup_is_delegated(int directory);
bool cgroup_put(int directory, const char *file, const char *text);

#endif
