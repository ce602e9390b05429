// Reading /proc: one process, one thread, one descriptor at a time.
//
// No judgement here, and nothing is kept: blocked-linux.c knows what a system
// call means for a terminal, attention-linux.c what to read and when.

#ifndef DIALTONE_PROC_H
#define DIALTONE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, group, session, terminal_group;
	unsigned terminal; // tty_nr: the controlling terminal, as the kernel encodes it
	unsigned threads;
	unsigned long long start; // with the pid it names a process for good
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
	uint64_t stack;
};

// A thread's state and names; tid == pid gives the process's own line.
bool proc_stat(pid_t pid, pid_t tid, struct process *out);

// How often the thread was given a processor: the epoch of what it does now.
bool proc_switches(pid_t pid, pid_t tid, uint64_t *out);

enum call_answer proc_call(pid_t pid, pid_t tid, struct call *out);

// Bytes of the process's memory; fewer than asked where the mapping ends.
size_t proc_memory(pid_t pid, uint64_t address, void *out, size_t length);

// Calls `each` for every thread, or child of any thread, or open descriptor; at most `limit`. Returns how many.
typedef void (*proc_each)(void *context, pid_t pid, int number);
unsigned proc_threads(pid_t pid, unsigned limit, proc_each each, void *context);
unsigned proc_children(pid_t pid, pid_t tid, unsigned limit, proc_each each, void *context);
unsigned proc_descriptors(pid_t pid, unsigned limit, proc_each each, void *context);
unsigned proc_processes(unsigned limit, proc_each each, void *context);

// What descriptor `fd` of the process is open on (not the link itself).
bool proc_descriptor(pid_t pid, int fd, struct stat *out);
bool proc_descriptor_writes(pid_t pid, int fd);
// The link's text, such as anon_inode:[eventfd]; empty when refused.
void proc_descriptor_link(pid_t pid, int fd, char *out, size_t size);
// The whole of fdinfo/N, cut at size - 1.
size_t proc_descriptor_info(pid_t pid, int fd, char *out, size_t size);

// A small file of /proc/PID, cut at size - 1; -1 with errno when it cannot be read.
ssize_t proc_text(pid_t pid, const char *name, char *out, size_t size);

#endif
