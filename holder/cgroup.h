// Killing by the kernel's own list of who is there, where it lends us one.
#ifndef DIALTONE_CGROUP_H
#define DIALTONE_CGROUP_H

#include <stddef.h>

#include "tree.h"

// Kills those of the listed that it can, with everything that they start meanwhile, whoever's they are. Nothing is
// promised: they are to be signalled all the same.
void cgroup_kill(const struct member *members, size_t count);
// When ending is over: removes what that made.
void cgroup_remove(void);

#endif
