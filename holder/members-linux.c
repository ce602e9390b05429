// Reads threads: what each is blocked in, and which of them to report. See probe.h.
//
// Reads and polls of a terminal first sleep in D, flushing the kernel's worker: only S is blocked. The order is
// switches, call, state, switches again: unchanged means that all of it was true at once.

#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

static bool look_at_thread(struct attention *a, const struct process *process, pid_t tid, const struct terminal *terminal,
                           struct blocked *out, uint64_t *switches) {
	for (int try = 0; try < TRIES; try++) {
		uint64_t after;
		struct process state;
		struct call call;
		enum call_answer answer = CALL_REFUSED;
		if (!proc_switches(process->pid, tid, switches))
			return false;
		if (!is_refused(a, process)) {
			answer = proc_call(process->pid, tid, &call);
			if (answer == CALL_REFUSED)
				remember_refusal(a, process);
		}
		*out = (struct blocked){.doing = DOING_RUNNING, .fd = -1};
		if (answer == CALL_GONE)
			return false;
		if (answer == CALL_RUNNING)
			return true;
		if (answer == CALL_IN)
			blocked_in(process, &call, terminal, out);
		if (!proc_stat(process->pid, tid, &state) || !proc_switches(process->pid, tid, &after))
			return false;
		switch (state.state) {
		case 'R':
		case 't': /* held by its debugger, which works on it; only SIGSTOP and the like are a stop */
			*out = (struct blocked){.doing = DOING_RUNNING, .fd = -1};
			return true;
		case 'D':
			*out = (struct blocked){.doing = DOING_DISK, .fd = -1};
			return true;
		case 'T':
			*out = (struct blocked){.doing = DOING_STOPPED, .fd = -1};
			return true;
		case 'Z':
		case 'X':
			return false;
		default:
			break;
		}
		if (after != *switches)
			continue;
		if (answer == CALL_REFUSED)
			out->doing = DOING_OPAQUE;
		else if (answer == CALL_OUTSIDE)
			out->doing = DOING_DISK;
		return true;
	}
	// It changes faster than it can be read.
	*out = (struct blocked){.doing = DOING_RUNNING, .fd = -1};
	return true;
}

bool reads_terminal(const struct blocked *blocked) {
	return blocked->doing == DOING_TTY_READ || blocked->doing == DOING_TTY_POLL;
}

bool is_busy(const struct blocked *blocked) {
	return blocked->doing == DOING_RUNNING || blocked->doing == DOING_DISK;
}

// Not asleep from before our last write. When all of that write was read (and pending input was flushed before it was
// counted) a thread in state S cannot be: 0 stale in 79,000 tries. Behind a relay the count is not the reader's own.
static bool is_fresh(const struct attention *a, unsigned place, pid_t tid, uint64_t switches) {
	if (place == 0 && a->places[0].unread == 0)
		return true;
	if (a->missed)
		return false;
	for (unsigned i = 0; i < a->wrote_count; i++)
		if (a->wrote[i].tid == tid)
			return a->wrote[i].switches != switches;
	return true;
}

static void add_place(struct attention *a, int index, unsigned holder) {
	for (unsigned i = 0; i < a->place_count; i++)
		if (a->places[i].index == index)
			return;
	if (index < 0 || a->place_count == MAX_TERMINALS)
		return;
	dev_t device = makedev(136, (unsigned)index);
	a->places[a->place_count++] = (struct place){
		.terminal = {.device = device, .number = terminal_number(device)},
		.index = index,
		.holder = (int)holder,
		.unread = -1,
	};
}

struct masters {
	struct attention *attention;
	unsigned holder;
};

static void add_master(void *context, pid_t pid, int fd) {
	struct masters *masters = context;
	struct stat of;
	char info[512];
	int index;
	if (!proc_descriptor(pid, fd, &of) || !S_ISCHR(of.st_mode) || of.st_rdev != makedev(5, 2))
		return;
	proc_descriptor_info(pid, fd, info, sizeof info);
	char *line = strstr(info, "tty-index:");
	if (line != NULL && sscanf(line, "tty-index: %d", &index) == 1)
		add_place(masters->attention, index, masters->holder);
}

struct visit {
	struct attention *attention;
	const struct process *process;
	unsigned place;
	bool foreground, outside;
};

static void watch_for(struct attention *a, struct mark mark) {
	if (a->watched_count < MAX_THREADS)
		a->watched[a->watched_count++] = mark;
	else
		a->settled = false;
}

// Big programs have many such threads; one number shows that they have not run.
static bool is_still_idle(struct attention *a, pid_t pid, pid_t tid) {
	for (unsigned i = 0; i < a->before_count; i++) {
		const struct mark *before = &a->before[i];
		uint64_t switches;
		if (before->tid != tid)
			continue;
		if (!before->idle || !proc_switches(pid, tid, &switches) || switches != before->switches)
			return false;
		watch_for(a, *before);
		return true;
	}
	return false;
}

static void visit_thread(void *context, pid_t pid, int tid) {
	const struct visit *visit = context;
	struct attention *a = visit->attention;
	const struct process *process = visit->process;
	struct blocked blocked;
	uint64_t switches;
	if (is_still_idle(a, pid, tid))
		return;
	if (!look_at_thread(a, process, tid, &a->places[visit->place].terminal, &blocked, &switches))
		return;
	bool main = tid == pid || process->threads == 1;
	bool reads = reads_terminal(&blocked);
	// A sleeping worker is no evidence, unless it waits for other I/O.
	bool idle = !main && !reads && !is_busy(&blocked) && !blocked.listens && blocked.others == 0 &&
	            blocked.doing != DOING_TTY_WRITE && blocked.doing != DOING_STOPPED;
	watch_for(a, (struct mark){pid, tid, switches, idle});
	if (visit->foreground && is_busy(&blocked))
		a->settled = false;
	// A process that left the session, or is outside, matters only as a reader.
	if (!visit->foreground && !reads && !(visit->outside && main))
		return;
	if (idle)
		return;
	if (a->reported_count == MAX_REPORTED) {
		a->more++;
		return;
	}
	struct thread *reported = &a->reported[a->reported_count];
	*reported = (struct thread){
		.pid = pid,
		.tid = tid,
		.place = visit->place,
		.foreground = visit->foreground,
		.outside = visit->outside,
		.main = main,
		.fresh = is_fresh(a, visit->place, tid, switches),
		.switches = switches,
		.blocked = blocked,
	};
	memcpy(reported->name, process->name, sizeof reported->name);
	if (reads || visit->outside) {
		struct masters masters = {a, a->reported_count};
		proc_descriptors(pid, MAX_PROCESSES, add_master, &masters);
	}
	a->reported_count++;
}

static void visit_process(struct attention *a, const struct process *process, unsigned place, bool foreground,
                          bool outside) {
	struct visit visit = {a, process, place, foreground, outside};
	if (process->threads == 1)
		visit_thread(&visit, process->pid, process->pid);
	else
		proc_threads(process->pid, MAX_THREADS, visit_thread, &visit);
}

void visit_members(struct attention *a, unsigned place) {
	struct place *at = &a->places[place];
	for (unsigned i = 0; i < a->process_count; i++) {
		const struct process *process = &a->processes[i];
		if (process->terminal != at->terminal.number)
			continue;
		// The master of an inner terminal is not ours to ask, but its processes know the foreground group.
		if (place > 0)
			at->group = process->terminal_group;
		if (at->group > 0 && process->group == at->group)
			visit_process(a, process, place, true, false);
	}
}

// su -c and setsid -w leave the session but keep the terminal open: no job control holds them back from reading it.
void visit_strangers(struct attention *a) {
	for (unsigned i = 0; i < a->process_count; i++)
		if (a->processes[i].terminal == 0)
			visit_process(a, &a->processes[i], 0, false, false);
}

void look_at_inner(struct attention *a, unsigned place) {
	for (unsigned i = 0; i < a->reported_count; i++) {
		const struct thread *thread = &a->reported[i];
		if (thread->place != place || thread->blocked.fd < 0)
			continue;
		// Opened through the reader's own descriptor: a path could name a terminal of another devpts.
		char path[64];
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread->pid, thread->blocked.fd);
		int slave = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
		if (slave < 0)
			continue;
		read_modes(&a->places[place], slave);
		count_unread(&a->places[place], slave);
		close(slave);
		return;
	}
}

// tmux attach: the client passes its terminal to an older server outside the tree.
void visit_outside(struct attention *a) {
	const struct place *ours = &a->places[0];
	if (ours->canonical || !ours->known || a->reported_count == 0)
		return;
	for (unsigned i = 0; i < a->reported_count; i++)
		if (is_busy(&a->reported[i].blocked) || reads_terminal(&a->reported[i].blocked))
			return;
	struct process server;
	pid_t outside = server_outside(a);
	if (outside == 0 || !proc_stat(outside, outside, &server))
		return;
	visit_process(a, &server, 0, false, true);
	add_descendants(a, server.pid);
}
