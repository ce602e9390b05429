// Limits that the kernel itself enforces, by the controllers of cgroup v2: for limits-linux.c, which measures as well.
//
// Only where the holder's cgroup is delegated and holds nothing but this session. As a cgroup that has controllers for
// those below it may hold no process itself, the holder moves into one (holder-PID) and its programs into another
// (programs-PID).
#ifndef DIALTONE_CONTROLLERS_H
#define DIALTONE_CONTROLLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree.h"

struct controllers_wanted {
	uint64_t memory, tasks; // 0: none
	bool cpu;               // its use is asked for
};

enum controllers_reached { REACHED_NONE, REACHED_MEMORY, REACHED_TASKS };

// Makes the cgroups, where that can be done; looks again only after the holder was moved to another one (a scope is given to
// it after its start). `members` is room for a list of `most`.
void controllers_step(const struct controllers_wanted *wanted, pid_t self, pid_t main_pid, struct member *members, size_t most);
bool controllers_bound_memory(void);
// Processor time of all that ran in there since they were made, µs; also of those for whom nobody waited.
uint64_t controllers_cpu_us(void);
// Readable (POLLPRI) when controllers_reached() may have changed; or -1.
int controllers_memory_events(void);
int controllers_tasks_events(void);
enum controllers_reached controllers_reached(void);
// Kills all that is in there, with everything that it starts meanwhile. False: there is no such cgroup.
bool controllers_kill(void);
// When the holder ends: back to where it was, and removes what was made unless somebody is still in there.
void controllers_leave(void);

#endif
