// What a thread is blocked in, as far as it concerns one terminal.
//
// Evidence, not a verdict: whether it adds up to "your turn" is decided in
// src/session/attention.ts.

#ifndef DIALTONE_BLOCKED_H
#define DIALTONE_BLOCKED_H

#include "proc.h"

enum doing {
	DOING_RUNNING,
	DOING_DISK,
	DOING_STOPPED,
	DOING_OPAQUE, // asleep; in what, we may not know
	DOING_TTY_READ,
	DOING_TTY_WRITE,
	DOING_TTY_POLL,
	DOING_TIMER,
	DOING_CHILD_WAIT,
	DOING_ACCEPT,
	DOING_OTHER,
};

// The terminal that is asked about.
struct terminal {
	dev_t device;    // st_rdev of the slave
	dev_t instance;  // st_dev of its devpts; 0 = any. A container numbers its own terminals from 0 too
	unsigned number; // the same as tty_nr in /proc/PID/stat
};

struct blocked {
	enum doing doing;
	const char *call; // by name, where it is one we know
	int fd;           // the descriptor that is the terminal, or -1
	unsigned others;  // descriptors in the set that the outside world could make ready
	bool timed;
	long timeout_ms;
	bool listens; // a listening socket is in the set
};

enum descriptor {
	FD_GONE,
	FD_TERMINAL,
	FD_MASTER, // of some terminal: a process that polls it relays
	FD_EPOLL,
	FD_TIMER,
	FD_WAKE,   // eventfd, signalfd, inotify, a pipe or socket pair to itself: no news from outside
	FD_LISTEN,
	FD_OUTSIDE,
};

unsigned terminal_number(dev_t device);

enum descriptor descriptor_kind(const struct process *process, int fd, const struct terminal *terminal);

// Classifies one answer of proc_call. The caller has to make sure that the thread did not move meanwhile.
void blocked_in(const struct process *process, const struct call *call, const struct terminal *terminal,
                struct blocked *out);

#endif
