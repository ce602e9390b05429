// Attention on Linux: one probe, and when the previous one is still valid.
// See attention.h.
//
// Three facts make it exact, each learnt from measured errors:
// - Epoch. A reader counts only once it has run since our last write, or when nothing of that write is left to read.
// - State S: see members-linux.c.
// - Unread input is counted after poll() has flushed that worker, and before the threads are read.

#include "probe.h"
#include "os.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

// Beyond so many processes a probe is the cheaper way to learn that one of them runs.
enum { MOST_CLOCKS = 16 };
// A reader may appear without a known thread having run (a server outside the tree): full probe this often.
enum { STALE_MS = 250 };

struct attention *attention_open(pid_t root, pid_t main_pid, bool confined, int master, const char *pts) {
	// One for a process, and mostly untouched pages: 1000 idle holders pay nothing for it.
	static struct attention only;
	struct attention *a = &only;
	struct stat of;
	struct call call;
	a->root = root;
	a->main_pid = main_pid;
	a->confined = confined;
	a->master = master;
	a->pts = pts;
	struct place *ours = &a->places[0];
	a->place_count = 1;
	ours->holder = -1;
	if (stat(pts, &of) == 0) {
		ours->terminal = (struct terminal){of.st_rdev, of.st_dev, terminal_number(of.st_rdev), 0};
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
	ours->terminal.group = ours->group;
	return ours->group != before;
}

static void read_group_members(struct attention *a) {
	pid_t group = a->places[0].group;
	pid_t leader = os_session_of(a->master); // in a sandbox it is another process than the main one
	a->main_foreground = group > 0 && getpgid(leader > 0 ? leader : a->main_pid) == group;
	a->group_lives = group > 0 && (kill(-group, 0) == 0 || errno == EPERM);
}

static int our_unread(const struct attention *a) {
	// Open only for a moment: while we hold it the master would not report that the last program is gone.
	int slave = os_open_slave(a->master, a->pts, true);
	struct place ours = a->places[0];
	count_unread(&ours, slave);
	if (slave >= 0)
		close(slave);
	return ours.unread;
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

// Their processor time, which goes on while one is on a processor.
static uint64_t clocks(const struct attention *a) {
	uint64_t sum = 0;
	for (unsigned i = 0; i < a->watched_count; i++)
		if (a->watched[i].tid == 0)
			sum += proc_ran(a->watched[i].pid);
	return sum;
}

bool attention_runs(const struct attention *a) {
	if (!a->readable || a->watched_count > MOST_CLOCKS)
		return false;
	return clocks(a) != clocks(a) || (a->wrote_since_look && nobody_ran(a));
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
		hash = mix(hash, thread->blocked.risks);
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
	check_sleep(a);
	visit_members(a, 0);
	visit_strangers(a);
	look_for_risks(a);
	look_closer(a);
	visit_outside(a);
	// Grows while we go: an inner terminal may hold another.
	for (unsigned place = 1; place < a->place_count; place++) {
		visit_members(a, place);
		look_at_inner(a, place);
	}
}

bool attention_stands(struct attention *a) {
	bool moved = read_group(a);
	bool other = read_modes(&a->places[0], a->master);
	// A thread that was woken but has not run yet is unmoved but no longer asleep: after a write its state is read too.
	// When nothing was written and nobody ran, no byte was read and no process has come or gone.
	return a->readable && a->settled && !moved && !other && !a->wrote_since_look && now_us() / 1000 - a->walked_ms < STALE_MS &&
	       nobody_ran(a);
}

void attention_count_reads(struct attention *a, bool on) {
	a->counts_reads = on;
}

bool attention_look(struct attention *a) {
	bool again = true, taken = false;
	// A line editor sets its modes right before it sleeps: those that count are the ones it sleeps with.
	for (int try = 0; again && try <= TRIES; try++) {
		read_group(a);
		read_modes(&a->places[0], a->master);
		a->places[0].unread = our_unread(a);
		read_group_members(a);
		if (!a->readable)
			break;
		look_afresh(a);
		bool moved = read_group(a);
		bool other = read_modes(&a->places[0], a->master);
		// Read after it was counted and before its reader was looked at: nobody runs after that, and the count would stand.
		taken = a->places[0].unread > 0 && our_unread(a) != a->places[0].unread;
		// One that wakes up now and then is not certain anyhow.
		again = moved || other || taken || ((a->doubts & DOUBT_CHANGED) != 0 && a->wakes_ms < 0);
	}
	a->settled &= !taken;
	a->wrote_since_look = false;
	note_sleep(a);
	struct take take;
	a->taker_reads = a->counts_reads && attention_takes(a, &take) == TAKING_DONE ? proc_reads(take.reader) : 0;
	uint64_t seen = fingerprint(a);
	bool changed = seen != a->fingerprint;
	a->fingerprint = seen;
	return changed;
}

bool attention_rests(const struct attention *a) {
	bool rests = a->readable && a->places[0].unread == 0 && (a->doubts & DOUBT_CHANGED) == 0;
	for (unsigned i = 0; rests && i < a->reported_count; i++) {
		const struct blocked *blocked = &a->reported[i].blocked;
		rests = !is_busy(blocked) && (a->reported[i].fresh || !reads_terminal(blocked));
	}
	return rests;
}

enum taking attention_takes(const struct attention *a, struct take *take) {
	const struct thread *reader = NULL;
	bool unseen = !a->readable;
	for (unsigned i = 0; i < a->place_count; i++)
		if (a->places[i].unread > 0)
			return TAKING_NOT;
	for (unsigned i = 0; i < a->reported_count; i++) {
		const struct thread *thread = &a->reported[i];
		if (reads_terminal(&thread->blocked)) {
			if (!thread->fresh)
				return TAKING_NOT;
			if (!thread->foreground && !thread->outside)
				continue;
			if (reader == NULL || thread->place > reader->place)
				reader = thread;
		} else if (is_busy(&thread->blocked) && a->place_count > 1) {
			return TAKING_NOT; // on its way to the terminal within
		} else {
			unseen |= thread->blocked.doing == DOING_OPAQUE || thread->blocked.doing == DOING_UNKNOWN;
		}
	}
	if (reader == NULL)
		return unseen ? TAKING_UNSEEN : TAKING_NOT;
	take->reader = reader->pid;
	take->reads = a->taker_reads;
	return TAKING_DONE;
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

// --- who sleeps where when something is typed ----------------------------------------------------------
//
// In the loop's own thread, so by nothing that a process can hold up: one inside execve keeps a lock for which `stat`,
// `syscall` and `fd` wait, but not the lists of threads and of children, nor `schedstat`.

static void mark_thread(void *context, pid_t pid, int tid) {
	struct attention *a = context;
	uint64_t switches;
	if (!proc_switches(pid, tid, &switches))
		return;
	if (a->wrote_count == MAX_THREADS)
		a->missed = true;
	else
		a->wrote[a->wrote_count++] = (struct mark){pid, tid, switches, false, -1};
}

static void mark_process(void *context, pid_t parent, int pid) {
	(void)parent;
	proc_threads(pid, mark_thread, context);
}

static void mark_all(struct attention *a) {
	a->wrote_count = 0;
	proc_children(a->root, a->root, mark_process, a);
	if (a->outside != 0)
		mark_process(a, 0, a->outside);
	for (unsigned next = 0; next < a->wrote_count; next++) {
		struct mark parent = a->wrote[next];
		proc_children(parent.pid, parent.tid, mark_process, a);
	}
}

// In line mode: a control character, or one that the terminal has been given a meaning for, a letter even.
static bool acts(unsigned char byte, const struct termios *modes) {
	if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && (modes->c_iflag & ISTRIP) != 0))
		return true;
	for (unsigned i = 0; i < NCCS; i++) {
		unsigned char other = modes->c_cc[i];
		bool meant = i != VMIN && i != VTIME && other != _POSIX_VDISABLE;
		if (meant && (other == byte || ((modes->c_iflag & IUCLC) != 0 && other == tolower(byte))))
			return true;
	}
	return false;
}

static bool could_wake_a_reader(const struct attention *a, const unsigned char *bytes, size_t length) {
	struct termios modes;
	if (tcgetattr(a->master, &modes) != 0 || (modes.c_lflag & ICANON) == 0)
		return true;
	// Letters alone leave the reader asleep, and rightly so.
	for (size_t i = 0; i < length; i++)
		if (acts(bytes[i], &modes))
			return true;
	return false;
}

void attention_wrote(struct attention *a, const void *bytes, size_t length) {
	note_disturbance(a);
	// One epoch for a burst: what follows it before the next probe is covered by the count of unread input.
	if (!a->readable || a->wrote_since_look || !could_wake_a_reader(a, bytes, length))
		return;
	a->wrote_since_look = true;
	a->missed = false;
	a->writes++;
	if (a->settled && nobody_ran(a)) {
		memcpy(a->wrote, a->watched, a->watched_count * sizeof *a->watched);
		a->wrote_count = a->watched_count;
	} else {
		mark_all(a);
	}
}

void attention_signalled(struct attention *a) {
	note_disturbance(a);
	a->settled = false;
}

void attention_missed(struct attention *a) {
	note_disturbance(a);
	a->settled = false;
	a->missed = true;
	a->writes++;
}
