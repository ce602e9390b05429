// Who a process is, asked in the loop's own thread: nothing here waits for another process.
//
// One inside execve on a mount that does not answer keeps a lock for which `stat`, `exe`, `fd` and more of it wait, for as
// long as the mount sleeps. `status` does not. What is only in the others is read by a helper thread, which is left to
// its sleep when it takes long: until it is back, nobody asks that process again.
#ifndef DIALTONE_IDENTITY_H
#define DIALTONE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "proc.h"

// Name, state, parent and number of threads, and no more. False: there is no such process, or it is hidden.
bool identity_status(pid_t pid, struct process *out);

// Another number for each process of this boot; 0 before Linux 6.9.
uint64_t identity_of_pidfd(int pidfd);

enum identity_known { IDENTITY_KNOWN, IDENTITY_GONE, IDENTITY_HELD_UP };
struct identity {
	pid_t pid;
	bool of_program; // what it runs is asked for, not when it started
	enum identity_known known;
	unsigned long long start;
	struct opened program;
};
// Answers each, within a second or so.
void identity_ask(struct identity *identities, size_t count);
enum identity_known identity_start(pid_t pid, unsigned long long *start);

#endif
