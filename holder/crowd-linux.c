// Which threads of a big process have run. See crowd.h.

#include "crowd.h"

#include <stdlib.h>

enum {
	LEAST = 16, // threads; fewer are read one by one
	CROWDS = 8,
	LATELY = 8, // looks
	TRIES = 3,
};

static struct crowd *find(const struct process *process) {
	static struct crowd crowds[CROWDS];
	static unsigned next;
	for (unsigned i = 0; i < CROWDS; i++)
		if (crowds[i].pid == process->pid && crowds[i].start == process->start)
			return &crowds[i];
	struct crowd *crowd = &crowds[next++ % CROWDS];
	crowd->pid = process->pid;
	crowd->start = process->start;
	crowd->count = crowd->child_count = 0;
	return crowd;
}

static void read_worker(pid_t pid, struct worker *worker) {
	uint64_t ran, switches;
	if (!proc_scheduled(pid, worker->tid, &ran, &switches))
		return; // gone: the sum will tell
	if (switches != worker->switches || ran != worker->ran) {
		worker->awake = true;
		worker->lately = LATELY;
	}
	worker->ran = ran;
	worker->switches = switches;
}

// The time of threads that ended, if the sum is right: with new times of those that ran lately, at one moment.
static bool read_lately(const struct crowd *crowd, uint64_t *ended_ran) {
	for (int try = 0; try < TRIES; try++) {
		uint64_t all = proc_ran(crowd->pid), sum = 0;
		for (unsigned i = 0; i < crowd->count; i++) {
			if (crowd->workers[i].lately > 0)
				read_worker(crowd->pid, &crowd->workers[i]);
			sum += crowd->workers[i].ran;
		}
		if (proc_ran(crowd->pid) != all)
			continue;
		*ended_ran = all - sum;
		return true;
	}
	return false;
}

struct listing {
	struct crowd *crowd;
	struct worker *workers;
	unsigned count, capacity, next;
	bool failed;
};

static void add_worker(void *context, pid_t pid, int tid) {
	struct listing *listing = context;
	const struct crowd *crowd = listing->crowd;
	if (listing->count == listing->capacity) {
		unsigned capacity = listing->capacity == 0 ? 64 : listing->capacity * 2;
		struct worker *grown = realloc(listing->workers, capacity * sizeof *grown);
		if (grown == NULL) {
			listing->failed = true;
			return;
		}
		listing->workers = grown;
		listing->capacity = capacity;
	}
	struct worker *worker = &listing->workers[listing->count++];
	*worker = (struct worker){.tid = tid, .awake = true, .wakes_ms = -1};
	bool known = false;
	// They are listed in the order of before.
	for (unsigned i = 0; i < crowd->count; i++, listing->next++) {
		const struct worker *before = &crowd->workers[listing->next % crowd->count];
		if (before->tid != tid)
			continue;
		*worker = *before;
		worker->lately -= worker->lately > 0;
		known = true;
		listing->next++;
		break;
	}
	read_worker(pid, worker);
	if (!known)
		worker->lately = 0; // most of them have run only once
}

static bool read_all(struct crowd *crowd) {
	struct listing listing = {.crowd = crowd};
	bool known = crowd->count > 0;
	uint64_t ended_ran;
	if (!proc_threads(crowd->pid, add_worker, &listing) || listing.failed) {
		free(listing.workers);
		return false;
	}
	free(crowd->workers);
	crowd->workers = listing.workers;
	crowd->count = listing.count;
	crowd->capacity = listing.capacity;
	bool right = read_lately(crowd, &ended_ran);
	// One that ran after it was read, or ended, is not to be told from the others: none is known then.
	for (unsigned i = 0; i < crowd->count && (!right || !known || ended_ran != crowd->ended_ran); i++)
		crowd->workers[i].awake = true;
	if (right)
		crowd->ended_ran = ended_ran;
	return true;
}

struct crowd *crowd_read(const struct process *process) {
	if (process->threads <= LEAST)
		return NULL;
	struct crowd *crowd = find(process);
	uint64_t ended_ran;
	if (crowd->count == process->threads && read_lately(crowd, &ended_ran) && ended_ran == crowd->ended_ran)
		return crowd;
	return read_all(crowd) ? crowd : NULL;
}

void crowd_keep_children(struct crowd *crowd, const struct process *children, unsigned count) {
	if (count > crowd->child_capacity) {
		pid_t *grown = realloc(crowd->children, count * sizeof *grown);
		if (grown == NULL) {
			crowd->count = 0; // read anew next time
			return;
		}
		crowd->children = grown;
		crowd->child_capacity = count;
	}
	for (unsigned i = 0; i < count; i++)
		crowd->children[i] = children[i].pid;
	crowd->child_count = count;
}
