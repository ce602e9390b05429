// The data of one probe, shared by the files that make it on Linux:
// attention-linux.c probes, relations-linux.c finds the processes, members-linux.c chooses
// the threads, thread-linux.c reads one, openings-linux.c finds who could read without
// waiting, risks-linux.c what could move a reader besides input, report-facts-linux.c writes JSON.

#ifndef DIALTONE_PROBE_H
#define DIALTONE_PROBE_H

#include "attention.h"
#include "blocked.h"

enum {
	// Examined; beyond it a look is in doubt. Untouched pages of these lists cost nothing.
	MAX_PROCESSES = 4096,
	MAX_THREADS = 4096,
	MAX_REPORTED = 48, // listed: readers first, the others are counted
	MAX_TERMINALS = 6, // ours and those that its programs hold
	MAX_REFUSALS = 64,
	MAX_SHARERS = 16,
	MAX_STOPS = 16,
	TRIES = 3, // a thread that changes while it is read is read again
};

enum { FLAG_ICRNL = 1, FLAG_IEXTEN = 2, FLAG_LNEXT = 4, FLAG_OPOST = 8, FLAG_IXON = 16 };

struct place {
	struct terminal terminal;
	int index;          // N of /dev/pts/N
	pid_t group;        // foreground
	int holder;         // the reported thread that relays to it, -1 for ours
	bool known;         // termios could be read
	bool canonical, echo, signals;
	unsigned flags;     // of FLAG_…: what tells a program that edits lines from one that takes keys
	unsigned char least, tenths; // VMIN and VTIME: how many bytes a raw read waits for, and how long
	int unread;         // -1: not known
};

struct thread {
	pid_t pid, tid;
	char name[20];
	unsigned place;
	bool foreground, outside, main, fresh;
	bool nonblocking; // its process has the terminal open such that reads do not wait
	bool workers;     // its process has other threads
	bool peeks;       // it may take input without waiting for it: so, or on a signal, or through a ring
	uint64_t switches;
	struct blocked blocked;
};

struct mark {
	pid_t pid, tid;    // no thread: the whole process, by its processor time
	uint64_t switches;
	bool idle; // a sleeping worker thread, no evidence
	long wakes_ms; // but for when it wakes up by itself; -1: never
};

struct attention {
	pid_t root, main_pid;
	int master;
	const char *pts; // the caller's, for good
	bool readable;
	bool confined; // the program runs in a sandbox

	// The last probe.
	struct place places[MAX_TERMINALS];
	unsigned place_count;
	struct thread reported[MAX_REPORTED];
	unsigned reported_count, more;
	unsigned doubts;
	long wakes_ms; // the shortest timeout of worker threads that are not reported, -1: none has one
	bool main_foreground, group_lives;
	uint64_t fingerprint;

	// While none of these has run, and all slept, that probe is still valid.
	struct mark watched[MAX_THREADS], before[MAX_THREADS];
	unsigned watched_count, before_count;
	bool settled;
	int64_t walked_ms;

	// How many times who has taken the input has called read: counted only on demand.
	bool counts_reads;
	uint64_t taker_reads;

	// Who slept where when we last wrote.
	struct mark wrote[MAX_THREADS];
	unsigned wrote_count, writes;
	bool wrote_since_look;
	bool missed; // … and that was not noted: a probe was under way

	struct refusal {
		pid_t pid;
		unsigned long long start;
		char name[20];
	} refusals[MAX_REFUSALS];
	unsigned next_refusal;

	// Since when which process of the foreground has not run, as far as looks have shown.
	struct rest {
		pid_t pid;
		uint64_t ran;
		int64_t since_ms;
	} rests[MAX_REPORTED];
	unsigned next_rest;

	// Who slept in the foreground when only input could make it go on, and what was done to it until then.
	struct slept {
		pid_t pid;
		unsigned long long start;
		uint64_t ran;
	} slept[MAX_REPORTED];
	unsigned slept_count;
	unsigned slept_disturbances, disturbances; // writes, signals, other sizes
	// When it was last seen to have gone on all the same.
	pid_t woken_group;
	int64_t woken_ms;

	// Which process was stopped when, and when it was seen to have run between two stops.
	struct stop {
		pid_t pid;
		unsigned long long start;
		uint64_t ran;
		int64_t since_ms, ran_ms;
	} stops[MAX_STOPS];
	unsigned next_stop;

	struct sharer {
		pid_t pid;
		unsigned long long start;
	} sharers[MAX_SHARERS];
	unsigned next_sharer;

	pid_t outside;
	pid_t outside_group;
	int64_t outside_ms;

	struct process processes[MAX_PROCESSES];
	unsigned process_count;
};

// attention-linux.c
bool read_modes(struct place *place, int terminal); // true when they are other than before
void count_unread(struct place *place, int slave);

// relations-linux.c
void add_descendants(struct attention *a, pid_t pid);
// All processes of the session, again.
void walk(struct attention *a);
// A server that is no descendant but was handed our terminal; 0 when there is none.
pid_t server_outside(struct attention *a);

// thread-linux.c
enum sight { SEEN, ENDED, LOST };
enum sight look_at_thread(struct attention *a, const struct process *process, pid_t tid, const struct terminal *terminal,
                          struct blocked *out, uint64_t *switches);
bool reads_terminal(const struct blocked *blocked);
bool is_busy(const struct blocked *blocked);

// risks-linux.c
void note_disturbance(struct attention *a);
// Right after the walk: whether who slept has gone on by itself. At the end of a look: who sleeps.
void check_sleep(struct attention *a);
void note_sleep(struct attention *a);
// What may move those who sleep.
void look_for_risks(struct attention *a);

// openings-linux.c
void look_for_openings(struct attention *a, struct thread *thread, const struct process *process);

// members-linux.c
// The foreground of one terminal; those that left the session but read ours; a server outside; an inner terminal's modes.
void visit_members(struct attention *a, unsigned place);
void visit_strangers(struct attention *a);
void visit_outside(struct attention *a);
// When nobody in the foreground reads: whoever else reads, and who could without waiting for it.
void look_closer(struct attention *a);
void look_at_inner(struct attention *a, unsigned place);

#endif
