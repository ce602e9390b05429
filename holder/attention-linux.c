// Whose turn is it, on Linux: whom to look at, and when the answer still stands.
// See attention.h.
//
// Three facts make it exact, each learnt from wrong answers that were counted:
// - Epoch. A reader counts only once it has run since our last write, or when nothing of that write is left to read.
// - State S. Reads and polls of a terminal first sleep in D, flushing the kernel's worker: only S is blocked. The
//   order is switches, call, state, switches again: unchanged means that all of it was true at once.
// - Unread input is counted after poll() has flushed that worker, and before the threads are looked at.

#include "attention.h"
#include "blocked.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

enum {
	MAX_PROCESSES = 256,
	MAX_THREADS = 256, // looked at; a foreground job with more is counted, not listed
	MAX_TOLD = 48,     // listed
	MAX_TERMINALS = 6, // ours and those that its programs hold
	MAX_REFUSALS = 64,
	TRIES = 3,
	// Someone may appear without a thread that we know having run (a server outside the tree): look afresh that often.
	STALE_MS = 250,
	// Finding who outside the tree holds our terminal means reading all of /proc: not for every look.
	OUTSIDE_MS = 1000,
	MAX_OUTSIDE = 4096,
};

struct place {
	struct terminal terminal;
	int index;          // N of /dev/pts/N
	pid_t group;        // foreground
	int holder;         // the told thread that relays to it, -1 for ours
	bool known;         // termios could be read
	bool canonical, echo, signals;
	int unread;         // -1: not known
};

struct thread {
	pid_t pid, tid;
	char name[20];
	unsigned place;
	bool foreground, outside, main, fresh;
	uint64_t switches;
	struct blocked blocked;
};

struct mark {
	pid_t pid, tid;
	uint64_t switches;
	bool idle; // a worker thread that slept and says nothing
};

struct attention {
	pid_t root, main_pid;
	int master;
	bool readable;

	// The last look.
	struct place places[MAX_TERMINALS];
	unsigned place_count;
	struct thread told[MAX_TOLD];
	unsigned told_count, more;
	bool main_foreground, group_lives;
	uint64_t fingerprint;

	// While nobody among these has run, and all slept, that look still stands.
	struct mark watched[MAX_THREADS], before[MAX_THREADS];
	unsigned watched_count, before_count;
	bool settled;
	uint64_t walked_ms;

	// Who slept where when we last wrote.
	struct mark wrote[MAX_THREADS];
	unsigned wrote_count, writes;
	bool wrote_since_look;

	struct refusal {
		pid_t pid;
		unsigned long long start;
		char name[20];
	} refusals[MAX_REFUSALS];
	unsigned next_refusal;

	pid_t outside;
	pid_t outside_group;
	uint64_t outside_ms;

	struct process processes[MAX_PROCESSES];
	unsigned process_count;
};

static uint64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct attention *attention_open(pid_t root, pid_t main_pid, int master, const char *pts) {
	// One for a process, and mostly untouched pages: 1000 idle holders pay nothing for it.
	static struct attention only;
	struct attention *a = &only;
	struct stat of;
	struct call call;
	a->root = root;
	a->main_pid = main_pid;
	a->master = master;
	struct place *ours = &a->places[0];
	a->place_count = 1;
	ours->holder = -1;
	if (stat(pts, &of) == 0) {
		ours->terminal = (struct terminal){of.st_rdev, of.st_dev, terminal_number(of.st_rdev)};
		ours->index = (int)minor(of.st_rdev);
	}
	// gVisor has no such files; then termios and the screen are all there is.
	uint64_t switches;
	a->readable = proc_switches(getpid(), getpid(), &switches) && proc_call(getpid(), getpid(), &call) != CALL_GONE;
	return a;
}

// --- the tree ---------------------------------------------------------------------------

static void add_process(void *context, pid_t parent, int pid) {
	struct attention *a = context;
	(void)parent;
	if (a->process_count < MAX_PROCESSES && proc_stat(pid, pid, &a->processes[a->process_count]))
		a->process_count++;
}


static void add_children(void *context, pid_t pid, int tid) {
	struct attention *a = context;
	proc_children(pid, tid, MAX_PROCESSES, add_process, a);
}

// Children hang off the thread that forked them.
static void add_children_of(struct attention *a, pid_t pid, unsigned threads) {
	if (threads == 1)
		add_children(a, pid, pid);
	else
		proc_threads(pid, MAX_THREADS, add_children, a);
}

static void add_descendants(struct attention *a, pid_t pid) {
	unsigned next = a->process_count;
	add_children_of(a, pid, 1);
	for (; next < a->process_count; next++)
		add_children_of(a, a->processes[next].pid, a->processes[next].threads);
}

static void walk(struct attention *a) {
	a->process_count = 0;
	add_descendants(a, a->root);
}

// --- the terminal itself --------------------------------------------------------------

static void count_unread(struct place *place, int slave) {
	int count;
	place->unread = -1;
	// poll() makes the kernel push what is under way into the line discipline, so that FIONREAD counts it.
	struct pollfd ready = {.fd = slave, .events = POLLIN};
	if (slave >= 0 && poll(&ready, 1, 0) >= 0 && ioctl(slave, FIONREAD, &count) == 0)
		place->unread = count;
}

// True when the modes are other than before.
static bool read_modes(struct place *place, int terminal) {
	struct termios modes;
	struct place before = *place;
	place->known = tcgetattr(terminal, &modes) == 0;
	place->canonical = place->known && (modes.c_lflag & ICANON) != 0;
	place->echo = place->known && (modes.c_lflag & ECHO) != 0;
	place->signals = place->known && (modes.c_lflag & ISIG) != 0;
	return place->canonical != before.canonical || place->echo != before.echo || place->signals != before.signals;
}

// True when another group has the terminal than before.
static bool read_group(struct attention *a) {
	struct place *ours = &a->places[0];
	pid_t before = ours->group;
	if (ioctl(a->master, TIOCGPGRP, &ours->group) != 0)
		ours->group = 0;
	a->main_foreground = ours->group > 0 && getpgid(a->main_pid) == ours->group;
	a->group_lives = ours->group > 0 && (kill(-ours->group, 0) == 0 || errno == EPERM);
	return ours->group != before;
}

static void count_our_unread(struct attention *a) {
	// Open only for a moment: as long as we hold it the master would not tell that the last program has gone.
	int slave = ioctl(a->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	count_unread(&a->places[0], slave);
	if (slave >= 0)
		close(slave);
}

// --- one thread -----------------------------------------------------------------------------

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
	// It moves faster than it can be looked at.
	*out = (struct blocked){.doing = DOING_RUNNING, .fd = -1};
	return true;
}

// --- whom to tell of ---------------------------------------------------------------------------

static bool reads_terminal(const struct blocked *blocked) {
	return blocked->doing == DOING_TTY_READ || blocked->doing == DOING_TTY_POLL;
}

static bool is_busy(const struct blocked *blocked) {
	return blocked->doing == DOING_RUNNING || blocked->doing == DOING_DISK;
}

// Not asleep from before our last write. When all of that write was read (and what is under way was flushed before it was
// counted) a thread in state S cannot be: 0 stale in 79,000 tries. Behind a relay the count is not the reader's own.
static bool is_fresh(const struct attention *a, unsigned place, pid_t tid, uint64_t switches) {
	if (place == 0 && a->places[0].unread == 0)
		return true;
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

// Big programs have many such threads; one number tells that they have not moved.
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
	// A worker that sleeps says nothing, unless it waits for the world outside.
	bool idle = !main && !reads && !is_busy(&blocked) && !blocked.listens && blocked.others == 0 &&
	            blocked.doing != DOING_TTY_WRITE && blocked.doing != DOING_STOPPED;
	watch_for(a, (struct mark){pid, tid, switches, idle});
	if (visit->foreground && is_busy(&blocked))
		a->settled = false;
	// Whoever left the session, or stands outside, matters only as a reader.
	if (!visit->foreground && !reads && !(visit->outside && main))
		return;
	if (idle)
		return;
	if (a->told_count == MAX_TOLD) {
		a->more++;
		return;
	}
	struct thread *told = &a->told[a->told_count];
	*told = (struct thread){
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
	memcpy(told->name, process->name, sizeof told->name);
	if (reads || visit->outside) {
		struct masters masters = {a, a->told_count};
		proc_descriptors(pid, MAX_PROCESSES, add_master, &masters);
	}
	a->told_count++;
}

static void visit_process(struct attention *a, const struct process *process, unsigned place, bool foreground,
                          bool outside) {
	struct visit visit = {a, process, place, foreground, outside};
	if (process->threads == 1)
		visit_thread(&visit, process->pid, process->pid);
	else
		proc_threads(process->pid, MAX_THREADS, visit_thread, &visit);
}

static void visit_members(struct attention *a, unsigned place) {
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
static void visit_strangers(struct attention *a) {
	for (unsigned i = 0; i < a->process_count; i++)
		if (a->processes[i].terminal == 0)
			visit_process(a, &a->processes[i], 0, false, false);
}

static void look_at_inner(struct attention *a, unsigned place) {
	for (unsigned i = 0; i < a->told_count; i++) {
		const struct thread *thread = &a->told[i];
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

// --- servers outside the tree ------------------------------------------------------------

struct search {
	struct attention *attention;
	uid_t user;
	pid_t candidate, found;
};

static void match_descriptor(void *context, pid_t pid, int fd) {
	struct search *search = context;
	const struct terminal *ours = &search->attention->places[0].terminal;
	struct stat of;
	if (search->found == 0 && proc_descriptor(pid, fd, &of) && S_ISCHR(of.st_mode) && of.st_rdev == ours->device &&
	    of.st_dev == ours->instance)
		search->found = pid;
}

static void match_process(void *context, pid_t unused, int pid) {
	struct search *search = context;
	struct attention *a = search->attention;
	struct process process;
	struct stat of;
	char path[32];
	(void)unused;
	if (search->found != 0 || pid == a->root)
		return;
	snprintf(path, sizeof path, "/proc/%d", pid);
	if (stat(path, &of) != 0 || of.st_uid != search->user)
		return;
	// Servers have no terminal of their own; kernel threads neither, and no descriptors.
	if (!proc_stat(pid, pid, &process) || process.terminal != 0 || process.parent == 2)
		return;
	for (unsigned i = 0; i < a->process_count; i++)
		if (a->processes[i].pid == pid)
			return;
	proc_descriptors(pid, MAX_PROCESSES, match_descriptor, search);
}

// tmux attach: the client hands its terminal to a server that was there before and is nobody's child here.
static void visit_outside(struct attention *a) {
	const struct place *ours = &a->places[0];
	if (ours->canonical || !ours->known || a->told_count == 0)
		return;
	for (unsigned i = 0; i < a->told_count; i++)
		if (is_busy(&a->told[i].blocked) || reads_terminal(&a->told[i].blocked))
			return;
	uint64_t now = now_ms();
	if (a->outside_group != ours->group || now - a->outside_ms >= OUTSIDE_MS) {
		struct search search = {.attention = a, .user = getuid()};
		proc_processes(MAX_OUTSIDE, match_process, &search);
		a->outside = search.found;
		a->outside_group = ours->group;
		a->outside_ms = now;
	}
	struct process server;
	if (a->outside == 0 || !proc_stat(a->outside, a->outside, &server))
		return;
	visit_process(a, &server, 0, false, true);
	add_descendants(a, server.pid);
}

// --- a look -----------------------------------------------------------------------------------

static bool nobody_ran(const struct attention *a) {
	for (unsigned i = 0; i < a->watched_count; i++) {
		uint64_t switches;
		if (!proc_switches(a->watched[i].pid, a->watched[i].tid, &switches) || switches != a->watched[i].switches)
			return false;
	}
	return true;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
	return (hash ^ value) * 0x100000001b3ull;
}

// What could change a verdict. Not the switches: a program that ticks would be news every time.
static uint64_t fingerprint(const struct attention *a) {
	uint64_t hash = mix(0xcbf29ce484222325ull, a->writes);
	for (unsigned i = 0; i < a->place_count; i++) {
		const struct place *place = &a->places[i];
		hash = mix(hash, (uint64_t)place->group << 8 | (uint64_t)place->canonical << 2 | (uint64_t)place->echo << 1 |
		                     (uint64_t)place->signals);
		hash = mix(hash, (uint64_t)(place->unread + 1));
	}
	for (unsigned i = 0; i < a->told_count; i++) {
		const struct thread *thread = &a->told[i];
		hash = mix(hash, (uint64_t)thread->tid << 16 | (uint64_t)thread->blocked.doing << 8 |
		                     (uint64_t)thread->fresh << 2 | (uint64_t)thread->blocked.timed << 1 |
		                     (uint64_t)thread->blocked.listens);
		hash = mix(hash, (uint64_t)thread->blocked.others << 32 | (uint32_t)thread->blocked.fd);
		// Roughly: event loops ask for another timeout every time.
		hash = mix(hash, (uint64_t)(thread->blocked.timeout_ms >= 100) + (thread->blocked.timeout_ms >= 500));
	}
	return mix(hash, (uint64_t)a->more << 2 | (uint64_t)a->main_foreground << 1 | (uint64_t)a->group_lives);
}

static void look_afresh(struct attention *a) {
	a->settled = true;
	a->walked_ms = now_ms();
	a->place_count = 1;
	memcpy(a->before, a->watched, a->watched_count * sizeof *a->watched);
	a->before_count = a->watched_count;
	a->told_count = a->more = a->watched_count = 0;
	walk(a);
	visit_members(a, 0);
	visit_strangers(a);
	visit_outside(a);
	// Grows while we go: an inner terminal may hold another.
	for (unsigned place = 1; place < a->place_count; place++) {
		visit_members(a, place);
		look_at_inner(a, place);
	}
}

bool attention_look(struct attention *a) {
	bool moved = read_group(a);
	bool other = read_modes(&a->places[0], a->master);
	count_our_unread(a);
	if (a->readable) {
		// A thread that was woken but has not run yet is unmoved but no longer asleep: after a write its state is read too.
		bool stands = a->settled && !moved && !other && !a->wrote_since_look && now_ms() - a->walked_ms < STALE_MS &&
		              nobody_ran(a);
		if (!stands)
			look_afresh(a);
		// A line editor sets its modes right before it sleeps: those that count are the ones it sleeps with.
		for (int try = 0; !stands && try < TRIES; try++) {
			moved = read_group(a);
			other = read_modes(&a->places[0], a->master);
			if (!moved && !other)
				break;
			count_our_unread(a);
			look_afresh(a);
		}
	}
	a->wrote_since_look = false;
	uint64_t seen = fingerprint(a);
	bool changed = seen != a->fingerprint;
	a->fingerprint = seen;
	return changed;
}

bool attention_works(const struct attention *a) {
	for (unsigned i = 0; i < a->told_count; i++) {
		const struct thread *thread = &a->told[i];
		enum doing doing = thread->blocked.doing;
		if (reads_terminal(&thread->blocked) || thread->blocked.listens || thread->outside || doing == DOING_STOPPED ||
		    doing == DOING_OPAQUE)
			return false;
	}
	return a->readable && a->told_count > 0;
}

static void mark_thread(void *context, pid_t pid, int tid) {
	struct attention *a = context;
	struct mark *mark = &a->wrote[a->wrote_count];
	if (a->wrote_count == MAX_THREADS || !proc_switches(pid, tid, &mark->switches))
		return;
	mark->pid = pid;
	mark->tid = tid;
	mark->idle = false;
	a->wrote_count++;
}

static bool could_wake_a_reader(const struct attention *a, const unsigned char *bytes, size_t length) {
	struct termios modes;
	if (tcgetattr(a->master, &modes) != 0 || (modes.c_lflag & ICANON) == 0)
		return true;
	// Line mode: letters alone leave the reader asleep, and rightly so.
	for (size_t i = 0; i < length; i++)
		if (bytes[i] < 0x20 || bytes[i] == 0x7f)
			return true;
	return false;
}

void attention_wrote(struct attention *a, const void *bytes, size_t length) {
	// One epoch for a burst: what follows it before the next look is covered by the count of unread input.
	if (!a->readable || a->wrote_since_look || !could_wake_a_reader(a, bytes, length))
		return;
	a->wrote_since_look = true;
	a->writes++;
	a->wrote_count = 0;
	if (a->settled && nobody_ran(a)) {
		memcpy(a->wrote, a->watched, a->watched_count * sizeof *a->watched);
		a->wrote_count = a->watched_count;
		return;
	}
	walk(a);
	if (a->outside != 0) {
		add_process(a, 0, a->outside);
		add_descendants(a, a->outside);
	}
	for (unsigned i = 0; i < a->process_count; i++) {
		if (a->processes[i].threads == 1)
			mark_thread(a, a->processes[i].pid, a->processes[i].pid);
		else
			proc_threads(a->processes[i].pid, MAX_THREADS, mark_thread, a);
	}
}

void attention_signalled(struct attention *a) {
	a->settled = false;
}

// --- telling ------------------------------------------------------------------------------------

static void put_modes(struct text *text, const struct place *place) {
	text_add(text, "\"canonical\":%s,\"echo\":%s,\"signals\":%s,\"unread\":", place->canonical ? "true" : "false",
	    place->echo ? "true" : "false", place->signals ? "true" : "false");
	if (place->unread >= 0)
		text_add(text, "%d", place->unread);
	else
		text_add(text, "null");
}

static void put_threads(struct text *text, const struct attention *a, unsigned place);

static void put_thread(struct text *text, const struct attention *a, unsigned index) {
	static const char *const doings[] = {
		[DOING_RUNNING] = "running",   [DOING_DISK] = "disk",           [DOING_STOPPED] = "stopped",
		[DOING_OPAQUE] = "opaque",     [DOING_TTY_READ] = "tty-read",   [DOING_TTY_WRITE] = "tty-write",
		[DOING_TTY_POLL] = "tty-poll", [DOING_TIMER] = "timer",         [DOING_CHILD_WAIT] = "child-wait",
		[DOING_ACCEPT] = "accept",     [DOING_OTHER] = "other",
	};
	const struct thread *thread = &a->told[index];
	const struct blocked *blocked = &thread->blocked;
	text_add(text, "{\"pid\":%d,\"tid\":%d,\"command\":", (int)thread->pid, (int)thread->tid);
	text_json(text, thread->name);
	text_add(text, ",\"doing\":\"%s\",\"switches\":%llu", doings[blocked->doing], (unsigned long long)thread->switches);
	text_add(text, ",\"foreground\":%s,\"main\":%s,\"fresh\":%s", thread->foreground ? "true" : "false",
	    thread->main ? "true" : "false", thread->fresh ? "true" : "false");
	if (thread->outside)
		text_add(text, ",\"outside\":true");
	if (blocked->call != NULL)
		text_add(text, ",\"call\":\"%s\"", blocked->call);
	if (blocked->fd >= 0)
		text_add(text, ",\"fd\":%d", blocked->fd);
	if (blocked->others > 0)
		text_add(text, ",\"others\":%u", blocked->others);
	if (blocked->timed)
		text_add(text, ",\"timeoutMs\":%ld", blocked->timeout_ms);
	if (blocked->listens)
		text_add(text, ",\"listens\":true");
	bool first = true;
	for (unsigned i = 1; i < a->place_count; i++) {
		const struct place *place = &a->places[i];
		if (place->holder != (int)index)
			continue;
		text_add(text, "%s{\"pts\":%d,", first ? ",\"inner\":[" : ",", place->index);
		if (place->known)
			put_modes(text, place);
		else
			text_add(text, "\"canonical\":null,\"echo\":null,\"signals\":null,\"unread\":null");
		text_add(text, ",\"threads\":");
		put_threads(text, a, i);
		text_add(text, "}");
		first = false;
	}
	text_add(text, "%s}", first ? "" : "]");
}

static void put_threads(struct text *text, const struct attention *a, unsigned place) {
	bool first = true;
	text_add(text, "[");
	for (unsigned i = 0; i < a->told_count; i++) {
		if (a->told[i].place != place)
			continue;
		if (!first)
			text_add(text, ",");
		put_thread(text, a, i);
		first = false;
	}
	text_add(text, "]");
}

size_t attention_tell(const struct attention *a, char *out, size_t size) {
	struct text text = text_in(out, size);
	text_add(&text, "\"readable\":%s,\"foregroundGroup\":%d,\"foregroundLives\":%s,\"mainForeground\":%s,",
	    a->readable ? "true" : "false", (int)a->places[0].group, a->group_lives ? "true" : "false",
	    a->main_foreground ? "true" : "false");
	put_modes(&text, &a->places[0]);
	text_add(&text, ",\"threads\":");
	put_threads(&text, a, 0);
	text_add(&text, ",\"more\":%u", a->more);
	return text.used;
}
