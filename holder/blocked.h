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
	DOING_UNKNOWN, // asleep in a call that may wait for the terminal, for all we know
};

// Why what was read is not all there is. Any of them rules out a certain verdict.
enum {
	DOUBT_CALL = 1,     // a system call that is not known
	DOUBT_SET = 2,      // what it waits for could not be read, or not all of it
	DOUBT_SLEEP = 4,    // it is in that call, but sleeps elsewhere: on a page of memory, for a supervisor's answer
	DOUBT_LIST = 8,     // not all processes, threads or descriptors could be read or listed
	DOUBT_CHANGED = 16, // a process ran while it was read
};

// Why a sleeping thread may go on although nobody types. Any of them rules out that its turn is certain.
enum {
	RISK_MIXED = 1,    // its set has more in it than the terminal's input: others may make that ready, in ways not followed here
	RISK_TIMERS = 2,   // its process has a timer
	RISK_SHARES = 4,   // others share its memory or descriptors, or did: what it waits for may have become another
	RISK_ORPHANS = 8,  // its process may have started one that is elsewhere now
	RISK_WOKEN = 16,   // the foreground has gone on lately although nothing was done to it
	RISK_CONNECTED = 32, // it has a pipe to a process of the session that is in another group
};

// The terminal that is asked about.
struct terminal {
	dev_t device;    // st_rdev of the slave
	dev_t instance;  // st_dev of its devpts; 0 = any. A container numbers its own terminals from 0 too
	unsigned number; // the same as tty_nr in /proc/PID/stat
	pid_t group;     // its foreground; 0: not known
};

struct blocked {
	enum doing doing;
	const char *call; // by name, where it is one we know
	int fd;           // the descriptor that is the terminal, or -1
	unsigned others;  // descriptors in the set that the outside world could make ready
	bool timed;
	long timeout_ms;
	bool listens; // a listening socket is in the set
	bool wakes;   // something by which its own process wakes it is in the set
	bool local;   // a socket is in the set over which it may have passed the terminal to a process outside
	bool own;     // nothing but its own process, or a clock, ends it
	bool signals;   // it waits for a signal
	bool signalled; // among them, or caught meanwhile, are those of timers and of terminals
	pid_t child;  // for a child: which; 0 = any, -1 = one that is not named by its number
	bool elsewhere; // what it waits for may come from a process outside the foreground (members-linux.c)
	unsigned doubts, risks;
};

enum descriptor {
	FD_GONE,
	FD_UNREADABLE,
	FD_TERMINAL,
	FD_TERMINAL_MAYBE,
	FD_MASTER, // of some terminal: a process that polls it relays
	FD_EPOLL,
	FD_TIMER,
	FD_SIGNALS,
	FD_RING,
	FD_WAKE,   // a pipe, event counter or socket to itself: no news from elsewhere
	FD_INSIDE, // the same, but its process group has the other end
	FD_LISTEN,
	FD_SOCKET, // to somebody else
	FD_OUTSIDE,
};

unsigned terminal_number(dev_t device);

// As far as the device tells: /dev/tty may be another one (descriptor_kind).
bool is_terminal(const struct process *process, const struct opened *file, const struct terminal *terminal);

// `for_writing`: the process waits until it can write, so what counts is who reads. With `expected` it is unreadable when
// it is open on another file than that.
enum descriptor descriptor_kind(const struct process *process, int fd, const struct terminal *terminal, bool for_writing,
                                struct opened *expected);

// A socket over which a descriptor can be passed, or one of which nothing is known.
bool is_local_socket(const struct process *process, int fd);

// Signals that a timer or a terminal with O_ASYNC sends, as a mask.
bool signals_wake(uint64_t signals);

// Classifies one answer of proc_call. The caller has to make sure that the thread did not move meanwhile.
void blocked_in(const struct process *process, const struct call *call, const struct terminal *terminal,
                struct blocked *out);

// A thread that reads or polls a terminal may sleep within that call for something else: its buffer may be on a page
// that a server has to bring, or a supervisor answers the call in place of the kernel. False: it does.
bool sleeps_in_call(pid_t pid, pid_t tid);

#endif
