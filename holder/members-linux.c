// Which threads are looked at, and which of them are reported. See probe.h.

#include "crowd.h"
#include "ends.h"
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

struct holdings {
	struct attention *attention;
	const struct process *process;
	unsigned holder;
	unsigned risks;
	bool signalled; // of what happens to one of them
};

static void look_at_end(struct holdings *holdings, int fd, const struct opened *file) {
	const struct process *process = holdings->process;
	char info[512];
	proc_descriptor_info(process->pid, fd, info, sizeof info);
	char *line = strstr(info, "flags:");
	unsigned long flags = line == NULL ? O_ASYNC : strtoul(line + 6, NULL, 8);
	holdings->signalled |= (flags & O_ASYNC) != 0;
	if (S_ISFIFO(file->mode) && ends_lead_away(process, file->inode, (flags & O_ACCMODE) != O_RDONLY))
		holdings->risks |= RISK_CONNECTED;
}

// Without a type: inotify, a performance counter and the like.
static bool is_anonymous(const struct opened *file) { return (file->mode & S_IFMT) == 0; }

// Masters of terminals; and what others, or the kernel, may have something to say through.
static void add_holding(void *context, pid_t pid, int fd) {
	struct holdings *holdings = context;
	struct opened file;
	char info[512];
	int index;
	if (!proc_descriptor(pid, fd, &file))
		return;
	if (S_ISFIFO(file.mode) || S_ISSOCK(file.mode) || is_anonymous(&file))
		look_at_end(holdings, fd, &file);
	if (!S_ISCHR(file.mode) || file.device != makedev(5, 2))
		return;
	proc_descriptor_info(pid, fd, info, sizeof info);
	char *line = strstr(info, "tty-index:");
	if (line != NULL && sscanf(line, "tty-index: %d", &index) == 1)
		add_place(holdings->attention, index, holdings->holder);
}

struct visit {
	struct attention *attention;
	struct process *process;
	unsigned place;
	bool foreground, outside;
	enum { AS_USUAL, READERS_ONLY, EVERYTHING } what; // to report
	struct worker *worker; // the thread, in a big process
};

static void watch_for(struct attention *a, struct mark mark) {
	if (a->watched_count < MAX_THREADS)
		a->watched[a->watched_count++] = mark;
	else
		a->settled = false;
}

// Whether what a thread does counts for the verdict, even if it does not read.
static bool counts(const struct visit *visit) {
	return visit->foreground || visit->what == EVERYTHING;
}

static void note_timeout(const struct visit *visit, long ms) {
	struct attention *a = visit->attention;
	if (ms >= 0 && counts(visit) && visit->place == 0 && (a->wakes_ms < 0 || ms < a->wakes_ms))
		a->wakes_ms = ms;
}

// Big programs have many such threads; one number shows that they have not run.
static bool is_still_idle(const struct visit *visit, pid_t pid, pid_t tid) {
	struct attention *a = visit->attention;
	// Looks find threads in the same order, so the one in question mostly follows the last one found.
	static unsigned next;
	for (unsigned i = 0; i < a->before_count; i++, next++) {
		if (next >= a->before_count)
			next = 0;
		const struct mark *before = &a->before[next];
		uint64_t switches;
		if (before->tid != tid)
			continue;
		next++;
		if (!before->idle || !proc_switches(pid, tid, &switches) || switches != before->switches)
			return false;
		watch_for(a, *before);
		note_timeout(visit, before->wakes_ms);
		return true;
	}
	return false;
}

// The place for one more; NULL when the list is full. What reads the terminal is never left out for what does not.
static struct thread *place_for(struct attention *a, bool reads) {
	if (a->reported_count < MAX_REPORTED)
		return &a->reported[a->reported_count++];
	a->more++;
	a->doubts |= DOUBT_LIST;
	for (unsigned i = MAX_REPORTED; reads && i-- > 0;)
		if (!reads_terminal(&a->reported[i].blocked) && !a->reported[i].outside)
			return &a->reported[i];
	return NULL;
}

static void report(const struct visit *visit, pid_t tid, uint64_t switches, const struct blocked *blocked) {
	struct attention *a = visit->attention;
	const struct process *process = visit->process;
	bool reads = reads_terminal(blocked);
	struct thread *reported = place_for(a, reads);
	if (reported == NULL)
		return;
	*reported = (struct thread){
		.pid = process->pid,
		.tid = tid,
		.place = visit->place,
		.foreground = visit->foreground,
		.outside = visit->outside,
		.main = tid == process->pid || process->threads == 1,
		.fresh = is_fresh(a, visit->place, tid, switches),
		.peeks = blocked->signalled,
		.workers = process->threads > 1,
		.switches = switches,
		.blocked = *blocked,
	};
	memcpy(reported->name, process->name, sizeof reported->name);
	if (reads || visit->outside) {
		struct holdings holdings = {.attention = a, .process = process, .holder = (unsigned)(reported - a->reported)};
		proc_descriptors(process->pid, add_holding, &holdings);
		reported->blocked.risks |= holdings.risks;
		reported->peeks |= holdings.signalled;
	}
}

static bool is_reported(const struct attention *a, pid_t tid, unsigned place) {
	for (unsigned i = 0; i < a->reported_count; i++)
		if (a->reported[i].tid == tid && a->reported[i].place == place)
			return true;
	return false;
}

// By its group alone, which is of one session: it may have given up its terminal.
static bool is_member(const struct place *at, const struct process *process) {
	return at->group > 0 && process->group == at->group;
}

// Has a child that is not in the foreground, whose end interrupts whatever it sleeps in, unless it waits for one that is
// there; or waits for a signal though it has no child there; or for a process that is no child (it traces it).
static bool waits_elsewhere(const struct attention *a, const struct visit *visit, const struct blocked *blocked, bool main) {
	bool inside = false, outside = false, named = false, known = false;
	bool reads = reads_terminal(blocked), waits = blocked->doing == DOING_CHILD_WAIT;
	if (is_busy(blocked) || !(main || waits || blocked->signals || reads))
		return false;
	for (unsigned i = 0; i < a->process_count; i++) {
		const struct process *child = &a->processes[i];
		if (child->parent != visit->process->pid || child->state == 'Z')
			continue;
		bool member = is_member(&a->places[visit->place], child);
		known |= child->pid == blocked->child;
		if (child->pid == blocked->child && member)
			named = true; // by another number in a PID namespace of its own: then any child counts
		inside |= member;
		outside |= !member;
	}
	bool stranger = waits && blocked->child != 0 && !known && (blocked->child < 0 || proc_numbers_like_us(visit->process->pid));
	return (outside && !named) || stranger || (blocked->signals && !inside && !reads);
}

static void visit_thread(void *context, pid_t pid, int tid) {
	const struct visit *visit = context;
	struct attention *a = visit->attention;
	struct process *process = visit->process;
	struct blocked blocked;
	uint64_t switches;
	if (visit->worker == NULL && is_still_idle(visit, pid, tid))
		return;
	enum sight sight = look_at_thread(a, process, tid, &a->places[visit->place].terminal, &blocked, &switches);
	if (sight == LOST && visit->foreground && visit->place == 0)
		a->doubts |= DOUBT_CHANGED;
	if (sight != SEEN)
		return;
	bool main = tid == pid || process->threads == 1;
	blocked.elsewhere = waits_elsewhere(a, visit, &blocked, main);
	bool reads = reads_terminal(&blocked);
	bool unknown = blocked.doing == DOING_UNKNOWN || blocked.doing == DOING_OPAQUE || blocked.doubts != 0;
	// A sleeping worker is no evidence, unless it waits for other I/O or nobody knows for what.
	bool idle = !main && !reads && !is_busy(&blocked) && !blocked.listens && blocked.others == 0 && !blocked.elsewhere &&
	            !blocked.signalled &&
	            blocked.doubts == 0 && blocked.risks == 0 && blocked.doing != DOING_TTY_WRITE && blocked.doing != DOING_STOPPED;
	long wakes_ms = idle && blocked.timed ? blocked.timeout_ms : -1;
	// What else it waits for may change hands, or get another member, while the thread sleeps on: it is read again at each look.
	bool stays_idle = idle && blocked.own;
	if (visit->worker != NULL) {
		visit->worker->awake = false;
		visit->worker->idle = stays_idle;
		visit->worker->wakes_ms = wakes_ms;
	}
	if (visit->worker == NULL || !stays_idle)
		watch_for(a, (struct mark){pid, tid, switches, stays_idle, wakes_ms});
	note_timeout(visit, wakes_ms);
	process->busy |= is_busy(&blocked);
	if (visit->foreground && is_busy(&blocked))
		a->settled = false;
	if (visit->what == READERS_ONLY && blocked.doing != DOING_TTY_READ)
		return;
	// A process that left the session, or is outside, matters only as a reader, or where that is not known.
	if (!counts(visit) && !reads && !unknown && !(visit->outside && main))
		return;
	if (idle || (visit->what == EVERYTHING && is_reported(a, tid, visit->place)))
		return;
	if (visit->place == 0 && (counts(visit) || reads))
		a->doubts |= blocked.doubts;
	report(visit, tid, switches, &blocked);
}

static void visit_crowd(struct visit visit) {
	const struct crowd *crowd = visit.process->crowd;
	for (unsigned i = 0; i < crowd->count; i++) {
		visit.worker = &crowd->workers[i];
		if (visit.worker->idle && !visit.worker->awake)
			note_timeout(&visit, visit.worker->wakes_ms);
		else
			visit_thread(&visit, crowd->pid, visit.worker->tid);
	}
}

static void visit_process(struct visit visit) {
	const struct process *process = visit.process;
	if (process->threads == 1 && process->state == 'Z')
		return;
	watch_for(visit.attention, (struct mark){process->pid, 0, process->ran, false, -1});
	if (process->crowd != NULL)
		visit_crowd(visit);
	else if (process->threads == 1)
		visit_thread(&visit, process->pid, process->pid);
	else if (!proc_threads(process->pid, visit_thread, &visit) && visit.foreground)
		visit.attention->doubts |= DOUBT_CHANGED;
}

void visit_members(struct attention *a, unsigned place) {
	struct place *at = &a->places[place];
	for (unsigned i = 0; i < a->process_count; i++) {
		struct process *process = &a->processes[i];
		// The master of an inner terminal is not ours to ask, but its processes know the foreground group.
		if (place > 0 && process->terminal == at->terminal.number)
			at->group = process->terminal_group;
		if (is_member(at, process))
			visit_process((struct visit){a, process, place, true, false, AS_USUAL, NULL});
	}
}

// Neither in the foreground nor ours: what makes the sandbox reads nothing and is never at work for the program.
static bool is_other(const struct attention *a, const struct process *process) {
	return !process->helper && !is_member(&a->places[0], process);
}

// su -c and setsid -w leave the session but keep the terminal open: no job control holds them back from reading it.
void visit_strangers(struct attention *a) {
	for (unsigned i = 0; i < a->process_count; i++)
		if (a->processes[i].terminal == 0 && is_other(a, &a->processes[i]))
			visit_process((struct visit){a, &a->processes[i], 0, false, false, AS_USUAL, NULL});
}

// --- when nobody in the foreground reads ---------------------------------------------------------

static bool is_read_by(const struct attention *a, bool foreground) {
	for (unsigned i = 0; i < a->reported_count; i++)
		if (a->reported[i].place == 0 && a->reported[i].foreground == foreground && reads_terminal(&a->reported[i].blocked))
			return true;
	return false;
}

// A process that ran while it was looked at may have a child, or be in a call, that nobody saw.
static void check_unchanged(struct attention *a) {
	for (unsigned i = 0; i < a->process_count; i++) {
		const struct process *process = &a->processes[i];
		if (is_member(&a->places[0], process) && !process->busy && proc_ran(process->pid) != process->ran) {
			a->doubts |= DOUBT_CHANGED;
			a->settled = false;
		}
	}
}

static void visit_all(struct attention *a, bool strangers, struct visit visit) {
	for (unsigned i = 0; i < a->process_count; i++) {
		visit.process = &a->processes[i];
		if (is_other(a, visit.process) && (visit.process->terminal == 0) == strangers)
			visit_process(visit);
	}
}

void look_closer(struct attention *a) {
	if (!is_read_by(a, true)) {
		// A read that began in the foreground goes on in the background; and every process may open the terminal by name.
		visit_all(a, false, (struct visit){.attention = a, .what = READERS_ONLY});
		// What the others of those that left the session do tells whether it is that reader's turn.
		if (is_read_by(a, false))
			visit_all(a, true, (struct visit){.attention = a, .what = EVERYTHING});
		for (unsigned i = 0; i < a->reported_count; i++) {
			struct thread *thread = &a->reported[i];
			for (unsigned at = 0; thread->foreground && thread->main && at < a->process_count; at++)
				if (a->processes[at].pid == thread->pid)
					look_for_openings(a, thread, &a->processes[at]);
		}
	}
	check_unchanged(a);
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
	uint64_t ran = proc_ran(outside);
	if (outside == 0 || !proc_stat(outside, outside, &server))
		return;
	server.ran = ran;
	server.busy = server.helper = false;
	server.crowd = NULL;
	visit_process((struct visit){a, &server, 0, false, true, AS_USUAL, NULL});
	add_descendants(a, server.pid);
}
