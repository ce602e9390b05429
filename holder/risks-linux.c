// What may move a thread that sleeps in a read of the terminal, besides input. See probe.h.
//
// Signals and timers of many kinds can interrupt it, and what has not happened yet is not to be seen. But what a program
// has left behind is (timers, processes, shared memory), and so is that it went on although nothing was done to it.

#include "probe.h"

#include <string.h>

enum {
	WOKEN_MS = 10000, // one that went on by itself may do so again, for so long
	MOST_PAIRS = 128, // of processes that are compared in one look
	PAIRS_KEPT = 4096,
	STOPPED_MS = 300, // a stop that lasts this long is no part of a limiter's short turns
};

void note_disturbance(struct attention *a) {
	a->disturbances++;
}

// --- going on by itself ----------------------------------------------------------------------

// Nothing but input, or somebody from elsewhere, makes the foreground go on.
static bool sleeps_for_input(const struct attention *a) {
	const struct place *ours = &a->places[0];
	bool gives_up = !ours->canonical && (ours->least == 0 || (ours->least > 1 && ours->tenths > 0));
	bool read = false;
	if (!a->readable || !a->settled || a->doubts != 0 || a->wakes_ms >= 0 || ours->unread != 0 || gives_up)
		return false;
	for (unsigned i = 0; i < a->reported_count; i++) {
		const struct thread *thread = &a->reported[i];
		const struct blocked *blocked = &thread->blocked;
		if (thread->place != 0)
			continue;
		if (is_busy(blocked) || blocked->timed || blocked->others > 0 || blocked->listens || blocked->doing == DOING_STOPPED)
			return false;
		if (reads_terminal(blocked) && !thread->fresh)
			return false;
		read |= reads_terminal(blocked);
	}
	return read;
}

static bool is_reported_process(const struct attention *a, pid_t pid) {
	for (unsigned i = 0; i < a->reported_count; i++)
		if (a->reported[i].place == 0 && a->reported[i].pid == pid)
			return true;
	return false;
}

void note_sleep(struct attention *a) {
	if (!sleeps_for_input(a))
		return;
	a->slept_count = 0;
	a->slept_disturbances = a->disturbances;
	for (unsigned i = 0; i < a->process_count && a->slept_count < MAX_REPORTED; i++)
		if (is_reported_process(a, a->processes[i].pid))
			a->slept[a->slept_count++] = (struct slept){a->processes[i].pid, a->processes[i].start, a->processes[i].ran};
}

void check_sleep(struct attention *a) {
	if (a->slept_disturbances != a->disturbances)
		return;
	for (unsigned i = 0; i < a->slept_count; i++)
		for (unsigned at = 0; at < a->process_count; at++) {
			const struct process *process = &a->processes[at];
			if (process->pid != a->slept[i].pid || process->start != a->slept[i].start || process->ran == a->slept[i].ran)
				continue;
			a->woken_group = a->places[0].group;
			a->woken_ms = a->walked_ms;
		}
}

// --- what it has left behind --------------------------------------------------------------------

static struct process *process_of(struct attention *a, pid_t pid) {
	for (unsigned i = 0; i < a->process_count; i++)
		if (a->processes[i].pid == pid)
			return &a->processes[i];
	return NULL;
}

static bool is_sharer(const struct attention *a, const struct process *process) {
	for (unsigned i = 0; i < MAX_SHARERS; i++)
		if (a->sharers[i].pid == process->pid && a->sharers[i].start == process->start)
			return true;
	return false;
}

// Two that share nothing never will, so each pair is compared once.
static struct pair {
	pid_t one, other;
	unsigned long long one_start, other_start;
} apart[PAIRS_KEPT];

static struct pair *place_of_pair(const struct process *one, const struct process *other) {
	return &apart[((uint64_t)one->pid * 0x9e3779b97f4a7c15ull + (uint64_t)other->pid * 0xc2b2ae3d27d4eb4full) >> 32 & (PAIRS_KEPT - 1)];
}

static enum shared share(const struct process *one, const struct process *other, unsigned *pairs) {
	struct pair *pair = place_of_pair(one, other);
	if (pair->one == one->pid && pair->one_start == one->start && pair->other == other->pid && pair->other_start == other->start)
		return SHARED_NOT;
	enum shared shared = ++*pairs > MOST_PAIRS ? SHARED_UNKNOWN : proc_share(one->pid, other->pid);
	if (shared == SHARED_NOT)
		*pair = (struct pair){one->pid, other->pid, one->start, other->start};
	return shared;
}

// With any process of the session: who made whom is not to be seen any more. Seen once counts for good: what was changed
// stays so when the other one is gone.
static bool shares(struct attention *a, const struct process *process, unsigned *pairs) {
	if (is_sharer(a, process))
		return true;
	for (unsigned i = 0; i < a->process_count; i++) {
		const struct process *other = &a->processes[i];
		bool ended = other->state == 'Z' && other->threads == 1;
		if (other->pid == process->pid || (ended && other->parent != process->pid))
			continue;
		if (ended)
			return true; // nobody asked for its end; what it shared is not known any more
		enum shared shared = share(process, other, pairs);
		if (shared == SHARED_UNKNOWN)
			return true;
		if (shared == SHARED) {
			struct sharer *sharer = &a->sharers[a->next_sharer++ % MAX_SHARERS];
			*sharer = (struct sharer){process->pid, process->start};
			return true;
		}
	}
	return false;
}

// The holder, or a process above this one: whoever of them adopts is the parent of what has lost its own below it.
static bool is_above(struct attention *a, pid_t pid, const struct process *process) {
	for (unsigned depth = 0; pid != a->root && process != NULL && depth < MAX_PROCESSES; depth++) {
		if (process->parent == pid)
			return true;
		process = process_of(a, process->parent);
	}
	return pid == a->root;
}

// One that left its parents, and did not exist before the reader: the reader may have started it, and wait for its signal.
static bool has_orphans(struct attention *a, const struct process *reader) {
	for (unsigned i = 0; i < a->process_count; i++) {
		const struct process *process = &a->processes[i];
		// What makes the sandbox may have started in the same hundredth of a second as the program within.
		bool ours = process->pid == a->main_pid || process->helper;
		bool orphan = !ours && process->state != 'Z' && is_above(a, process->parent, reader);
		if (orphan && process->pid != reader->pid && process->group != a->places[0].group && process->start >= reader->start)
			return true;
	}
	return false;
}

// One that is stopped and continued by turns, as a limiter of processor time does, is at work.
static bool may_be_throttled(struct attention *a, const struct process *process) {
	for (unsigned i = 0; i < MAX_STOPS; i++) {
		struct stop *stop = &a->stops[i];
		if (stop->pid != process->pid || stop->start != process->start)
			continue;
		if (stop->ran != process->ran)
			stop->ran = process->ran, stop->since_ms = stop->ran_ms = a->walked_ms;
		bool ran = stop->ran_ms > 0 && a->walked_ms - stop->ran_ms < WOKEN_MS;
		return ran || a->walked_ms - stop->since_ms < STOPPED_MS;
	}
	a->stops[a->next_stop++ % MAX_STOPS] = (struct stop){process->pid, process->start, process->ran, a->walked_ms, 0};
	return true;
}

void look_for_risks(struct attention *a) {
	unsigned pairs = 0;
	for (unsigned i = 0; i < a->reported_count; i++) {
		struct thread *thread = &a->reported[i];
		struct blocked *blocked = &thread->blocked;
		// Others are never certain. One that is busy may be starting a program, for which it lends its memory (vfork).
		const struct process *process = thread->place == 0 && thread->foreground && !is_busy(blocked) ? process_of(a, thread->pid) : NULL;
		if (process != NULL && blocked->doing == DOING_STOPPED && may_be_throttled(a, process))
			blocked->risks |= RISK_WOKEN;
		if (process == NULL || process->threads > 1)
			continue;
		if (shares(a, process, &pairs))
			blocked->risks |= RISK_SHARES;
		if (!reads_terminal(blocked))
			continue;
		if (proc_has_timers(process->pid))
			blocked->risks |= RISK_TIMERS;
		if (has_orphans(a, process))
			blocked->risks |= RISK_ORPHANS;
		if (a->woken_ms > 0 && a->woken_group == a->places[0].group && a->walked_ms - a->woken_ms < WOKEN_MS)
			blocked->risks |= RISK_WOKEN;
	}
}
