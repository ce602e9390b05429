// From a system call and its arguments to what a thread waits for. See blocked.h.

#include "calls.h"
#include "set.h"

#include <asm/ioctls.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum {
	FUTEX_BITSET = 9,
	FUTEX_PRIVATE = 128,
	FUTEX_REALTIME = 256,
};

static void classify(struct gathering *g) {
	struct blocked *out = g->out;
	// What its own process group can make ready is news to a reader, but no news from outside.
	if (g->reads)
		out->others += g->inside;
	// Who only polls for output has nothing to write for all we know: it may have been told already (EPOLLET).
	if (g->reads)
		out->doing = DOING_TTY_POLL;
	else if (g->seen == 0 && out->timed)
		out->doing = DOING_TIMER; // poll(NULL, 0, ms) and select with nothing set: a way to sleep
	else
		out->doing = DOING_OTHER;
}

static bool looks_like_poll(const struct gathering *g, const struct call *call) {
	struct pollfd first;
	uint64_t count = call->argument[1];
	if (count == 0 || count > MAX_POLLED)
		return false;
	if (proc_memory(g->process->pid, call->argument[0], &first, sizeof first) != sizeof first)
		return false;
	return first.fd >= -1 && first.fd < MAX_SELECT && first.events > 0 && first.events < 0x4000 && first.revents == 0;
}

static void sleep_until(struct gathering *g, uint64_t address, bool absolute, clockid_t clock) {
	long long seconds, nanoseconds;
	struct timespec now;
	if (!read_span(g, address, &seconds, &nanoseconds)) {
		limit_timeout(g->out, 0);
		return;
	}
	if (absolute && clock_gettime(clock, &now) == 0) {
		seconds -= now.tv_sec;
		nanoseconds -= now.tv_nsec;
	}
	limit_timeout(g->out, clamp_ms(seconds * 1000 + nanoseconds / 1000000));
}

// One descriptor that the thread waits for alone.
static void wait_for(struct gathering *g, int fd, bool reads) {
	struct blocked *out = g->out;
	set_add(g, fd, reads, !reads, 0);
	if (g->reads || g->writes)
		out->doing = g->reads ? DOING_TTY_READ : DOING_TTY_WRITE;
}

static void wait_on_futex(struct gathering *g, const struct call *call) {
	unsigned operation = (unsigned)call->argument[1];
	if (call->argument[3] != 0)
		sleep_until(g, call->argument[3], (operation & 0x7f) == FUTEX_BITSET,
		            operation & FUTEX_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC);
	// With no other thread another process wakes it, whichever that is: one that shares its memory, if it is a private one.
	if (g->process->threads == 1)
		g->out->others++;
	else if ((operation & FUTEX_PRIVATE) != 0)
		g->out->own = true;
	else if (proc_is_shared(g->process, call->argument[0]))
		g->out->risks |= RISK_SHARES;
}

// Requests that wait until the terminal's output is written; others do not wait for a terminal, as far as is known.
static bool drains(uint64_t request) {
	return request == TCSBRK || request == TCSBRKP || request == TCSETSW || request == TCSETSF;
}

bool sleeps_in_call(pid_t pid, pid_t tid) {
	// Where reads and polls sleep, by the beginning of the function's name; some kernels inline one into the other.
	static const char *const places[] = {
		"wait_woken",    "n_tty_read",      "tty_read",       "file_tty_read", "iterate_tty_read",
		"poll_schedule", "do_poll",         "do_sys_poll",    "do_select",     "core_sys_select",
		"do_pselect",    "ep_poll",         "do_epoll",       "schedule_hrtimeout",
		"io_cqring",     "io_uring",        "__do_sys_io_uring",
	};
	char place[64];
	proc_wait_channel(pid, tid, place, sizeof place);
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
		if (strncmp(place, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

// waitid(P_PID, pid, …) and wait4(pid, …): the child, or 0 for any of them; -1 where it is named by a descriptor.
static pid_t child_of(const char *call, const uint64_t *argument) {
	bool by_kind = strcmp(call, "waitid") == 0;
	if (by_kind && argument[0] != P_PID)
		return argument[0] == P_ALL || argument[0] == P_PGID ? 0 : -1;
	pid_t child = (pid_t)argument[by_kind ? 1 : 0];
	return child > 0 ? child : 0;
}

void blocked_in(const struct process *process, const struct call *call, const struct terminal *terminal,
                struct blocked *out) {
	*out = (struct blocked){.doing = DOING_OTHER, .fd = -1};
	const struct meaning *meaning = call_meaning(process->pid, call);
	struct gathering g = {
		.process = process,
		.terminal = terminal,
		.narrow_time = meaning->narrow_time,
		.out = out,
	};
	const uint64_t *argument = call->argument;
	enum shape shape = meaning->shape;
	out->call = meaning->name;
	if (shape == RESTARTS) {
		// Of the calls that restart this way only poll takes descriptors; the others are ways to sleep.
		bool polls = looks_like_poll(&g, call);
		out->doubts |= DOUBT_CALL;
		shape = polls ? POLLS : RESTARTS;
		out->call = polls ? "poll" : out->call;
	}
	switch (shape) {
	case UNKNOWN:
		out->doing = DOING_UNKNOWN;
		out->doubts |= DOUBT_CALL;
		break;
	case READS:
	case WRITES:
		wait_for(&g, (int)argument[0], shape == READS);
		break;
	case SPLICES:
	case SENDS:
		// It waits for either side, and which one is not told.
		wait_for(&g, (int)argument[shape == SPLICES ? 0 : 1], true);
		out->risks |= RISK_MIXED;
		break;
	case CONTROLS:
		if (drains(argument[1]))
			wait_for(&g, (int)argument[0], false);
		else {
			out->doing = DOING_UNKNOWN;
			out->doubts |= DOUBT_CALL;
		}
		break;
	case RECEIVES:
		set_add(&g, (int)argument[0], true, false, 0);
		out->others += out->others == 0;
		break;
	case POLLS:
		if ((int)argument[2] >= 0)
			limit_timeout(out, (int)argument[2]);
		set_add_polled(&g, argument[0], (unsigned)argument[1]);
		classify(&g);
		break;
	case PPOLLS:
		timeout_from(&g, argument[2], 1000000);
		set_add_polled(&g, argument[0], (unsigned)argument[1]);
		classify(&g);
		break;
	case SELECTS:
	case PSELECTS:
		timeout_from(&g, argument[4], shape == SELECTS ? 1000 : 1000000);
		set_add_selected(&g, (unsigned)argument[0], argument[1], SELECT_READS);
		set_add_selected(&g, (unsigned)argument[0], argument[2], SELECT_WRITES);
		set_add_selected(&g, (unsigned)argument[0], argument[3], SELECT_EXCEPTIONS);
		classify(&g);
		break;
	case EPOLLS:
		if ((int)argument[3] >= 0)
			limit_timeout(out, (int)argument[3]);
		set_add_epoll(&g, (int)argument[0], 0);
		classify(&g);
		break;
	case EPOLLS_2:
		timeout_from(&g, argument[3], 1000000);
		set_add_epoll(&g, (int)argument[0], 0);
		classify(&g);
		break;
	case RING:
		set_add_ring(&g);
		classify(&g);
		break;
	case SLEEPS:
		out->own = true;
		sleep_until(&g, argument[0], false, CLOCK_MONOTONIC);
		out->doing = DOING_TIMER;
		break;
	case SLEEPS_ON_CLOCK:
		out->own = true;
		sleep_until(&g, argument[2], (argument[1] & TIMER_ABSTIME) != 0, (clockid_t)argument[0]);
		out->doing = DOING_TIMER;
		break;
	case SIGNALS: {
		uint64_t caught;
		out->signals = true;
		out->signalled = !proc_caught(process->pid, &caught) || signals_wake(caught);
		break;
	}
	case SIGNALS_IN_TIME:
		out->signals = out->signalled = true; // which ones it takes as they come
		timeout_from(&g, argument[2], 1000000);
		break;
	case FUTEX:
		wait_on_futex(&g, call);
		break;
	case LOCKS:
		out->others = 1;
		break;
	case WAITS:
		out->doing = DOING_CHILD_WAIT;
		out->child = child_of(meaning->name, argument);
		break;
	case ACCEPTS:
		out->doing = DOING_ACCEPT;
		out->listens = true;
		break;
	case RESTARTS:
		out->doing = DOING_TIMER;
		break;
	}
}
