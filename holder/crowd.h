// The threads of a big process, kept from look to look: which of them have run.
//
// Reading one file for each of 500 threads takes several milliseconds. But the kernel
// tells the processor time of a whole process in one call, and it is the sum of its
// threads' times and of those that ended. While that sum holds with new times of
// the few threads that ran lately, no other thread has run: what was seen of them is still true.

#ifndef DIALTONE_CROWD_H
#define DIALTONE_CROWD_H

#include "proc.h"

struct worker {
	pid_t tid;
	uint64_t ran, switches;
	bool awake;     // it has run since it was last looked at, or was not looked at yet
	bool idle;      // when it was: asleep, and no evidence
	long wakes_ms;  // but for when it wakes up by itself; -1: never
	unsigned lately; // looks since it ran, counted down
};

struct crowd {
	pid_t pid;
	unsigned long long start;
	struct worker *workers;
	unsigned count, capacity;
	uint64_t ended_ran; // processor time of its threads that ended
	pid_t *children;
	unsigned child_count, child_capacity;
};

// The threads of the process as they are now; NULL when it has few, or there is no memory: then read them one by one.
struct crowd *crowd_read(const struct process *process);

// Keeps which children it has, for threads that do not run.
void crowd_keep_children(struct crowd *crowd, const struct process *children, unsigned count);

#endif
