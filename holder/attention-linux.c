// Attention on Linux: one probe, and when the previous one is still valid.
// See attention.h.
//
// Three facts make it exact, each learnt from measured errors:
// - Epoch. A reader counts only once it has run since our last write, or when nothing of that write is left to read.
// - State S: see members-linux.c.
// - Unread input is counted after poll() has flushed that worker, and before the threads are read.

#include "probe.h"
#include "os.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

// A reader may appear without a known thread having run (a server outside the tree): full probe this often.
enum { STALE_MS = 250 };

struct attention *attention_open(pid_t root, pid_t main_pid, int master, const char *pts) {
	// One for a process, and mostly untouched pages: 1000 idle holders pay nothing for it.
	static struct attention only;
	struct attention *a = &only;
	struct stat of;
	struct call call;
	a->root = root;
	a->main_pid = main_pid;
	a->master = master;
	a->pts = pts;
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

// --- the terminal itself --------------------------------------------------------------

void count_unread(struct place *place, int slave) {
	int count;
	place->unread = -1;
	// poll() makes the kernel flush pending input into the line discipline, so that FIONREAD counts it.
	struct pollfd ready = {.fd = slave, .events = POLLIN};
	if (slave >= 0 && poll(&ready, 1, 0) >= 0 && ioctl(slave, FIONREAD, &count) == 0)
		place->unread = count;
}

static unsigned flags_of(const struct termios *modes) {
	return ((modes->c_iflag & ICRNL) != 0 ? FLAG_ICRNL : 0u) | ((modes->c_lflag & IEXTEN) != 0 ? FLAG_IEXTEN : 0u) |
	       (modes->c_cc[VLNEXT] != _POSIX_VDISABLE ? FLAG_LNEXT : 0u) | ((modes->c_oflag & OPOST) != 0 ? FLAG_OPOST : 0u) |
	       ((modes->c_iflag & IXON) != 0 ? FLAG_IXON : 0u);
}

bool read_modes(struct place *place, int terminal) {
	struct termios modes;
	struct place before = *place;
	place->known = tcgetattr(terminal, &modes) == 0;
	place->canonical = place->known && (modes.c_lflag & ICANON) != 0;
	place->echo = place->known && (modes.c_lflag & ECHO) != 0;
	place->signals = place->known && (modes.c_lflag & ISIG) != 0;
	if (place->known)
		place->flags = flags_of(&modes);
	place->least = place->known ? modes.c_cc[VMIN] : 0;
	place->tenths = place->known ? modes.c_cc[VTIME] : 0;
	return place->canonical != before.canonical || place->echo != before.echo || place->signals != before.signals ||
	       place->flags != before.flags || place->least != before.least || place->tenths != before.tenths;
}

// True when another group has the terminal than before.
static bool read_group(struct attention *a) {
	struct place *ours = &a->places[0];
	pid_t before = ours->group;
	if (ioctl(a->master, TIOCGPGRP, &ours->group) != 0)
		ours->group = 0;
	return ours->group != before;
}

static void read_group_members(struct attention *a) {
	pid_t group = a->places[0].group;
	a->main_foreground = group > 0 && getpgid(a->main_pid) == group;
	a->group_lives = group > 0 && (kill(-group, 0) == 0 || errno == EPERM);
}

static void count_our_unread(struct attention *a) {
	// Open only for a moment: while we hold it the master would not report that the last program is gone.
	int slave = os_open_slave(a->master, a->pts, true);
	count_unread(&a->places[0], slave);
	if (slave >= 0)
		close(slave);
}

// --- a probe -----------------------------------------------------------------------------------

static bool nobody_ran(const struct attention *a) {
	// By process: one call tells for all of its threads, in a tenth of the time that one file takes.
	for (unsigned i = 0; i < a->watched_count; i++) {
		const struct mark *mark = &a->watched[i];
		if (mark->tid == 0 && (mark->switches == 0 || proc_ran(mark->pid) != mark->switches))
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
		hash = mix(hash, (uint64_t)(place->unread + 1) << 8 | place->flags);
	}
	for (unsigned i = 0; i < a->reported_count; i++) {
		const struct thread *thread = &a->reported[i];
		hash = mix(hash, (uint64_t)thread->tid << 16 | (uint64_t)thread->blocked.doing << 8 |
		                     (uint64_t)thread->peeks << 3 | (uint64_t)thread->fresh << 2 | (uint64_t)thread->blocked.timed << 1 |
		                     (uint64_t)thread->blocked.listens);
		hash = mix(hash, (uint64_t)thread->blocked.others << 32 | (uint32_t)thread->blocked.fd);
		// Roughly: event loops ask for another timeout every time.
		hash = mix(hash, (uint64_t)(thread->blocked.timeout_ms >= 100) + (thread->blocked.timeout_ms >= 500));
	}
	return mix(hash, (uint64_t)a->doubts << 24 | (uint64_t)a->more << 2 | (uint64_t)a->main_foreground << 1 | (uint64_t)a->group_lives);
}

static void look_afresh(struct attention *a) {
	a->settled = true;
	a->walked_ms = now_us() / 1000;
	a->place_count = 1;
	memcpy(a->before, a->watched, a->watched_count * sizeof *a->watched);
	a->before_count = a->watched_count;
	a->reported_count = a->more = a->watched_count = a->doubts = 0;
	a->wakes_ms = -1;
	walk(a);
	visit_members(a, 0);
	visit_strangers(a);
	look_closer(a);
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
	// A thread that was woken but has not run yet is unmoved but no longer asleep: after a write its state is read too.
	bool stands = a->readable && a->settled && !moved && !other && !a->wrote_since_look &&
	              now_us() / 1000 - a->walked_ms < STALE_MS && nobody_ran(a);
	// When nothing was written and nobody ran, no byte was read and no process has come or gone.
	if (!stands) {
		count_our_unread(a);
		read_group_members(a);
	}
	if (a->readable) {
		if (!stands)
			look_afresh(a);
		// A line editor sets its modes right before it sleeps: those that count are the ones it sleeps with.
		for (int try = 0; !stands && try < TRIES; try++) {
			moved = read_group(a);
			other = read_modes(&a->places[0], a->master);
			// One that wakes up now and then is not certain anyhow.
			bool again = (a->doubts & DOUBT_CHANGED) != 0 && a->wakes_ms < 0;
			if (!moved && !other && !again)
				break;
			count_our_unread(a);
			read_group_members(a);
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
	for (unsigned i = 0; i < a->reported_count; i++) {
		const struct thread *thread = &a->reported[i];
		enum doing doing = thread->blocked.doing;
		if (reads_terminal(&thread->blocked) || thread->blocked.listens || thread->outside || doing == DOING_STOPPED ||
		    doing == DOING_OPAQUE || doing == DOING_UNKNOWN)
			return false;
	}
	return a->readable && a->reported_count > 0;
}

static void mark_thread(void *context, pid_t pid, int tid) {
	struct attention *a = context;
	struct mark *mark = &a->wrote[a->wrote_count];
	if (a->wrote_count == MAX_THREADS || !proc_switches(pid, tid, &mark->switches))
		return;
	mark->pid = pid;
	mark->tid = tid;
	mark->idle = false;
	mark->wakes_ms = -1;
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
	// One epoch for a burst: what follows it before the next probe is covered by the count of unread input.
	if (!a->readable || a->wrote_since_look || !could_wake_a_reader(a, bytes, length))
		return;
	a->wrote_since_look = true;
	a->missed = false;
	a->writes++;
	a->wrote_count = 0;
	if (a->settled && nobody_ran(a)) {
		memcpy(a->wrote, a->watched, a->watched_count * sizeof *a->watched);
		a->wrote_count = a->watched_count;
		return;
	}
	walk(a);
	if (a->outside != 0) {
		add_process(a, a->outside);
		add_descendants(a, a->outside);
	}
	for (unsigned i = 0; i < a->process_count; i++) {
		if (a->processes[i].threads == 1)
			mark_thread(a, a->processes[i].pid, a->processes[i].pid);
		else
			proc_threads(a->processes[i].pid, mark_thread, a);
	}
}

void attention_signalled(struct attention *a) {
	a->settled = false;
}

void attention_missed(struct attention *a) {
	a->settled = false;
	a->missed = true;
	a->writes++;
}
