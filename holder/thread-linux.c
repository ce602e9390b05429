// Reads one thread: what it is blocked in, at one moment. See probe.h.
//
// Reads and polls of a terminal first sleep in D, flushing the kernel's worker: only S is blocked. The order is
// switches, call, state, switches again: unchanged means that all of it was true at once.

#include "probe.h"

#include <string.h>

static bool is_refused(struct attention *a, const struct process *process) {
	for (unsigned i = 0; i < MAX_REFUSALS; i++)
		if (a->refusals[i].pid == process->pid && a->refusals[i].start == process->start &&
		    strcmp(a->refusals[i].name, process->name) == 0)
			return true;
	return false;
}

// Yama writes a line to the kernel's log for every try, so one refusal has to do, until the process becomes another
// program.
static void remember_refusal(struct attention *a, const struct process *process) {
	struct refusal *refusal = &a->refusals[a->next_refusal++ % MAX_REFUSALS];
	refusal->pid = process->pid;
	refusal->start = process->start;
	memcpy(refusal->name, process->name, sizeof refusal->name);
}

enum sight look_at_thread(struct attention *a, const struct process *process, pid_t tid, const struct terminal *terminal,
                          struct blocked *out, uint64_t *switches) {
	for (int try = 0; try < TRIES; try++) {
		uint64_t after;
		struct process state;
		struct call call;
		enum call_answer answer = CALL_REFUSED;
		if (!proc_switches(process->pid, tid, switches))
			return LOST;
		if (!is_refused(a, process)) {
			answer = proc_call(process->pid, tid, &call);
			if (answer == CALL_REFUSED)
				remember_refusal(a, process);
		}
		*out = (struct blocked){.doing = DOING_RUNNING, .fd = -1};
		if (answer == CALL_GONE)
			return LOST;
		if (answer == CALL_RUNNING)
			return SEEN;
		if (answer == CALL_IN)
			blocked_in(process, &call, terminal, out);
		if (reads_terminal(out) && !sleeps_in_call(process->pid, tid))
			out->doubts |= DOUBT_SLEEP;
		if (!proc_stat(process->pid, tid, &state) || !proc_switches(process->pid, tid, &after))
			return LOST;
		switch (state.state) {
		case 'R':
		case 't': /* held by its debugger, which works on it; only SIGSTOP and the like are a stop */
			*out = (struct blocked){.doing = DOING_RUNNING, .fd = -1};
			return SEEN;
		case 'D':
			*out = (struct blocked){.doing = DOING_DISK, .fd = -1};
			return SEEN;
		case 'T':
			*out = (struct blocked){.doing = DOING_STOPPED, .fd = -1};
			return SEEN;
		case 'Z':
		case 'X':
			return ENDED;
		default:
			break;
		}
		if (after != *switches)
			continue;
		if (answer == CALL_REFUSED) {
			out->doing = DOING_OPAQUE;
		} else if (answer == CALL_OUTSIDE) {
			out->doing = DOING_UNKNOWN; // on a page of memory, which somebody may have to bring
			out->doubts |= DOUBT_SLEEP;
		}
		return SEEN;
	}
	// It changes faster than it can be read.
	*out = (struct blocked){.doing = DOING_RUNNING, .fd = -1};
	return SEEN;
}

bool reads_terminal(const struct blocked *blocked) {
	return blocked->doing == DOING_TTY_READ || blocked->doing == DOING_TTY_POLL;
}

bool is_busy(const struct blocked *blocked) {
	return blocked->doing == DOING_RUNNING || blocked->doing == DOING_DISK;
}
