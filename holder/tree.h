// Everything the session started and that still lives.
#ifndef DIALTONE_TREE_H
#define DIALTONE_TREE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct member {
	pid_t pid, parent;
	unsigned long long start; // with the pid it names a process for good; 0: unknown, or not asked for
	unsigned long long unique; // this names it as well, and is the holder's own; 0: unknown
	bool hidden;
	char command[20];
};

enum disposition { DISPOSITION_UNKNOWN, DISPOSITION_DEFAULT, DISPOSITION_IGNORED, DISPOSITION_CAUGHT };

// The living descendants of `root` (not itself, no zombies). Bounded: to end them all, repeat until none is left.
// `*complete` is false where some may be missing: no list may be taken for an empty one. `main_pid` is 0 once it was reaped.
size_t tree_list(pid_t root, pid_t main_pid, struct member *members, size_t most, bool *complete);

// When each started, where that is not known yet: for others, who know a process by it.
void tree_starts(struct member *members, size_t count);

// Signals the process that was listed, and never one that has its pid now. 0 or an errno; ESRCH: it is gone.
int tree_signal(const struct member *member, int signal);

// A holder or a daemon that was started from inside a session is not part of it, although it is below this process. For it
// a process of this very program asks (`dialtone-holder leave`, its child), with this signal: the kernel names the sender.
#define LEAVE_SIGNAL 50
// In the signal's handler. Whoever is no such process, or is not named by the kernel, asks in vain.
void tree_asked(const siginfo_t *info);
// Those who were let go and live.
size_t tree_released(struct member *members, size_t most);
// Starts such a process for this one, where there is a holder above.
void tree_leave(void);
// Is such a process: asks all holders above it to let its parent go. Its exit code.
int tree_leave_main(void);

// What this process does with the signal.
enum disposition tree_disposition(pid_t pid, int signal);

#endif
