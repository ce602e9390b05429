// Everything the session started and that still lives.
#ifndef DIALTONE_TREE_H
#define DIALTONE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct member {
	pid_t pid, parent;
	unsigned long long start; // with the pid it names a process for good; 0: unknown
	char command[20];
};

enum disposition { DISPOSITION_UNKNOWN, DISPOSITION_DEFAULT, DISPOSITION_IGNORED, DISPOSITION_CAUGHT };

// The living descendants of `root` (not itself, no zombies). Bounded: to end them all, repeat until none is left.
// `*complete` is false where some may be missing: no list may be taken for an empty one. `main_pid` is 0 once it was reaped.
size_t tree_list(pid_t root, pid_t main_pid, struct member *members, size_t most, bool *complete);

// Signals the process that was listed, and never one that has its pid now. 0 or an errno; ESRCH: it is gone.
int tree_signal(const struct member *member, int signal);

// A holder or a daemon that was started from inside a session is not part of it, although it is below this process. It
// says so itself, with this signal: the kernel names the sender. The number is also in src/pty/outer-session.ts.
#define LEAVE_SIGNAL 50
void tree_let_go(pid_t pid); // in the signal's handler
// Sends it to every holder above this process.
void tree_leave(void);

// What this process does with the signal.
enum disposition tree_disposition(pid_t pid, int signal);

#endif
