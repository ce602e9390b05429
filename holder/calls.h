// System calls by what they can do to a terminal.
//
// The table names the calls that are known: those that can read or write a
// terminal, and those that never do. Every other call is unknown, and an unknown
// call supports no certain verdict (A1): splice, preadv2 and the calls that the next
// kernel adds wait for a terminal as well as read does.

#ifndef DIALTONE_CALLS_H
#define DIALTONE_CALLS_H

#include "proc.h"

enum shape {
	UNKNOWN,
	READS,    // (fd, …)
	WRITES,   // (fd, …)
	SPLICES,  // (fd in, offset, fd out, …)
	SENDS,    // (fd out, fd in, …)
	CONTROLS, // (fd, request, …)
	POLLS,    // (pollfd *, count, timeout ms)
	PPOLLS,   // (pollfd *, count, timespec *)
	SELECTS,  // (n, read, write, except, timeval *)
	PSELECTS,
	EPOLLS,   // (epfd, events, max, timeout ms)
	EPOLLS_2, // … timespec *
	RING,     // (ring, submit, complete, flags)
	SLEEPS,   // (timespec *)
	SLEEPS_ON_CLOCK, // (clock, flags, timespec *)
	WAITS,    // for a child
	ACCEPTS,  // (fd, …)
	RECEIVES, // (fd, …): a socket, never a terminal
	FUTEX,    // (address, operation, value, timespec *)
	SIGNALS,  // waits for a signal
	SIGNALS_IN_TIME, // (set, info, timespec *)
	LOCKS,    // for another process: locks, messages, semaphores, the other end of a named pipe, disks
	RESTARTS, // one that was interrupted by a stop: which one is not told
};

struct meaning {
	long number;
	enum shape shape;
	const char *name;
	bool narrow;  // its addresses and set bits are those of a 32-bit program
	bool narrow_time; // and so are its times
};

// A new look: what was read before is forgotten.
void calls_begin(void);

// What the thread is in. Never NULL; of an unknown call only the shape is there.
const struct meaning *call_meaning(pid_t pid, const struct call *call);

#endif
