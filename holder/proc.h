// Reading /proc: one process, one thread, one descriptor at a time.
//
// No judgement here, and nothing is kept: blocked-linux.c knows what a system
// call means for a terminal, attention-linux.c what to read and when.
//
// Nothing here asks a file system: a network mount that does not answer would
// hold up whoever asks (H1). Descriptors are read by their links, and by statx
// without synchronization where a link is a path. cmdline and environ are never
// read: they wait for the process's memory map.

#ifndef DIALTONE_PROC_H
#define DIALTONE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct crowd;

struct process {
	pid_t pid, parent, group, session, terminal_group;
	unsigned terminal; // tty_nr: the controlling terminal, as the kernel encodes it
	unsigned threads;
	unsigned long long start; // with the pid it names a process for good
	uint64_t ran;             // proc_ran, before its threads and children were read
	bool busy;                // a thread of it was found at work
	bool helper;              // it makes the sandbox in which the program runs
	struct crowd *crowd;      // its threads, where it has many
	char state;
	char name[20];
};

enum call_answer {
	CALL_IN,      // blocked in a system call: number and arguments are there
	CALL_RUNNING, // on a processor, or about to be
	CALL_OUTSIDE, // asleep, but in no system call (a page fault)
	CALL_REFUSED, // we may not know
	CALL_GONE,
};

struct call {
	long number;
	uint64_t argument[6];
	uint64_t pointer; // of instructions: behind the one that made the call
};

// A file of the process as text, cut at size - 1. 0 or less: not readable.
ssize_t proc_text(pid_t pid, const char *name, char *out, size_t size);

// A thread's state and names; tid == pid gives the process's own line.
bool proc_stat(pid_t pid, pid_t tid, struct process *out);

// How often the thread was given a processor: the epoch of what it does now.
bool proc_switches(pid_t pid, pid_t tid, uint64_t *out);

// The same, and its processor time in nanoseconds.
bool proc_scheduled(pid_t pid, pid_t tid, uint64_t *ran, uint64_t *switches);

// Processor time of all threads of a process in nanoseconds: unchanged means that none of them has run. 0: not known.
uint64_t proc_ran(pid_t pid);

// How many times it has called read so far, or the like. 0: not known.
uint64_t proc_reads(pid_t pid);

// The signals that a process catches: bit N-1 for signal N. False: not readable.
bool proc_caught(pid_t pid, uint64_t *out);

// The kernel function in which a thread sleeps; empty where the kernel does not tell.
void proc_wait_channel(pid_t pid, pid_t tid, char *out, size_t size);

enum call_answer proc_call(pid_t pid, pid_t tid, struct call *out);

// Bytes of the process's memory; fewer than asked where the mapping ends.
size_t proc_memory(pid_t pid, uint64_t address, void *out, size_t length);

// The page at that address is one that several processes may map, or nothing is known of it.
bool proc_is_shared(const struct process *process, uint64_t address);

// Whether two processes share their memory or their table of descriptors. Those that do not never will: a table is shared
// only with one that is made.
enum shared { SHARED, SHARED_NOT, SHARED_UNKNOWN };
enum shared proc_share(pid_t one, pid_t other);

// It is in our PID namespace: the numbers it uses are those that we see.
bool proc_numbers_like_us(pid_t pid);

bool proc_has_our_mounts(pid_t pid);

// It has timers made by timer_create(2), or that is not known.
bool proc_has_timers(pid_t pid);

// Calls `each` for every thread, child of a thread, open descriptor or process. False: the list is not readable.
typedef void (*proc_each)(void *context, pid_t pid, int number);
bool proc_threads(pid_t pid, proc_each each, void *context);
bool proc_children(pid_t pid, pid_t tid, proc_each each, void *context);
bool proc_descriptors(pid_t pid, proc_each each, void *context);
bool proc_processes(proc_each each, void *context);

// What descriptor `fd` of the process is open on (not the link itself).
struct opened {
	mode_t mode;
	dev_t device; // for a device file, its number
	dev_t system; // the file system it is in
	uint64_t inode;
	bool unnamed; // it has no inode of its own
};
bool proc_descriptor(pid_t pid, int fd, struct opened *out);
// The same of the program that it runs.
bool proc_program(pid_t pid, struct opened *out);
bool proc_descriptor_reads(pid_t pid, int fd);
bool proc_descriptor_writes(pid_t pid, int fd);
// The link's text, such as anon_inode:[eventfd]; empty when refused.
void proc_descriptor_link(pid_t pid, int fd, char *out, size_t size);
// The terminal behind a descriptor, as tty_nr. False: not allowed, or it is none. The descriptor is ours for a moment.
bool proc_terminal_number(pid_t pid, int fd, unsigned *out);
// fdinfo/N, cut at size - 1. 0: not readable.
size_t proc_descriptor_info(pid_t pid, int fd, char *out, size_t size);
// A socket's protocol: TCP, UNIX-STREAM, …; empty where it is not known.
void proc_socket_protocol(pid_t pid, int fd, char *out, size_t size);

#endif
