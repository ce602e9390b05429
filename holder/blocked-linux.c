// From a system call and its arguments to what a thread waits for. See blocked.h.
//
// While a thread is blocked, user memory still holds the request it made: the
// poll set, the select bits, the timeout. An epoll set is in fdinfo. What cannot be read or
// does not fit is a doubt, never a shorter set.

#include "blocked.h"
#include "calls.h"

#include <asm/ioctls.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sysmacros.h>
#include <time.h>

enum {
	POLL_PIECE = 256,   // pollfds read at once
	MAX_POLLED = 65536, // descriptors of a set
	MAX_SELECT = 65536, // the highest descriptor of a select set
	MAX_EPOLL_DEPTH = 5, // the kernel allows as many
	MAX_EPOLL_BYTES = 16 << 20,
	RING_ENTRIES = 128,
	FUTEX_PRIVATE = 128,
	FUTEX_BITSET = 9,
	FUTEX_REALTIME = 256,
	FIRST_REALTIME_SIGNAL = 34, // those below are the C library's own
};

struct gathering {
	const struct process *process;
	const struct terminal *terminal;
	bool reads, writes; // the terminal is in the set, for input or for output
	unsigned seen;
	unsigned inside; // descriptors that only its process group can make ready
	bool narrow_time;
	const struct opened *expected; // what the next descriptor is open on, where that is known
	struct blocked *out;
};

bool signals_wake(uint64_t signals) {
	static const int those[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGIO};
	for (unsigned i = 0; i < sizeof those / sizeof *those; i++)
		if (signals >> (those[i] - 1) & 1)
			return true;
	return signals >> (FIRST_REALTIME_SIGNAL - 1) != 0;
}

static void limit_timeout(struct blocked *out, long ms) {
	if (!out->timed || ms < out->timeout_ms)
		out->timeout_ms = ms;
	out->timed = true;
}

static long clamp_ms(long long ms) {
	return ms < 0 ? 0 : ms > 0x7fffffff ? 0x7fffffff : (long)ms;
}

static bool read_span(const struct gathering *g, uint64_t address, long long *seconds, long long *rest) {
	int64_t wide[2];
	int32_t narrow[2];
	if (address == 0)
		return false;
	if (g->narrow_time) {
		if (proc_memory(g->process->pid, address, narrow, sizeof narrow) != sizeof narrow)
			return false;
		*seconds = narrow[0], *rest = narrow[1];
	} else {
		if (proc_memory(g->process->pid, address, wide, sizeof wide) != sizeof wide)
			return false;
		*seconds = wide[0], *rest = wide[1];
	}
	return true;
}

static void timeout_from(struct gathering *g, uint64_t address, long per_ms) {
	long long seconds, rest;
	if (read_span(g, address, &seconds, &rest))
		limit_timeout(g->out, clamp_ms(seconds * 1000 + rest / per_ms));
	else if (address != 0)
		limit_timeout(g->out, 0);
}

static void add_epoll(struct gathering *g, int epoll, unsigned depth);

static void add_timer(struct gathering *g, int fd) {
	char info[512];
	long long seconds, nanoseconds;
	proc_descriptor_info(g->process->pid, fd, info, sizeof info);
	char *line = strstr(info, "it_value: (");
	if (line == NULL || sscanf(line, "it_value: (%lld, %lld)", &seconds, &nanoseconds) != 2)
		limit_timeout(g->out, 0);
	else if (seconds > 0 || nanoseconds > 0)
		limit_timeout(g->out, clamp_ms(seconds * 1000 + nanoseconds / 1000000));
}

static void add_signals(struct gathering *g, int fd) {
	char info[512];
	proc_descriptor_info(g->process->pid, fd, info, sizeof info);
	char *line = strstr(info, "sigmask:");
	if (line == NULL || signals_wake(strtoull(line + 8, NULL, 16)))
		limit_timeout(g->out, 0);
}

static void add(struct gathering *g, int fd, bool reads, bool writes, unsigned depth) {
	struct blocked *out = g->out;
	if (fd < 0)
		return;
	if (g->seen++ >= MAX_POLLED) {
		out->doubts |= DOUBT_SET;
		return;
	}
	switch (descriptor_kind(g->process, fd, g->terminal, writes && !reads, g->expected)) {
	case FD_TERMINAL:
		if (reads || !g->reads)
			out->fd = fd;
		g->reads |= reads;
		g->writes |= writes;
		break;
	case FD_EPOLL:
		add_epoll(g, fd, depth + 1);
		break;
	case FD_TIMER:
		add_timer(g, fd);
		break;
	case FD_SIGNALS:
		add_signals(g, fd);
		break;
	case FD_LISTEN:
		out->listens = true;
		break;
	case FD_RING:
		out->doubts |= DOUBT_SET;
		out->others++;
		break;
	case FD_UNREADABLE:
		out->doubts |= DOUBT_SET;
		break;
	case FD_SOCKET:
		// Of no interest for who reads the terminal himself.
		out->local = out->local || (!g->reads && is_local_socket(g->process, fd));
		out->others++;
		break;
	case FD_MASTER:
	case FD_OUTSIDE:
		out->others++;
		break;
	case FD_INSIDE:
		g->inside++;
		break;
	case FD_WAKE:
	case FD_GONE:
		break;
	}
}

// The whole of an epoll descriptor's fdinfo, to be freed; NULL when it cannot be had.
static char *epoll_text(pid_t pid, int epoll) {
	for (size_t size = 8192; size <= MAX_EPOLL_BYTES; size *= 8) {
		char *text = malloc(size);
		size_t got = text == NULL ? 0 : proc_descriptor_info(pid, epoll, text, size);
		if (got > 0 && got < size - 1)
			return text;
		free(text);
		if (got == 0)
			break;
	}
	return NULL;
}

static void add_epoll(struct gathering *g, int epoll, unsigned depth) {
	char *info = depth > MAX_EPOLL_DEPTH ? NULL : epoll_text(g->process->pid, epoll);
	if (info == NULL) {
		g->out->doubts |= DOUBT_SET;
		return;
	}
	for (char *line = strstr(info, "tfd:"); line != NULL; line = strstr(line + 4, "tfd:")) {
		int fd;
		unsigned events, system;
		unsigned long long inode;
		if (sscanf(line, "tfd: %d events: %x", &fd, &events) != 2)
			continue;
		// The set keeps files, not numbers: that one may have been closed, or used again since. Its number names the
		// same file only if the inode is the same.
		char *place = strstr(line, "ino:");
		if (place == NULL || sscanf(place, "ino:%llx sdev:%x", &inode, &system) != 2) {
			g->out->doubts |= DOUBT_SET;
			continue;
		}
		struct opened file = {.inode = inode, .system = makedev(system >> 20, system & 0xfffff)};
		g->expected = &file;
		add(g, fd, (events & (EPOLLIN | EPOLLRDNORM)) != 0, (events & EPOLLOUT) != 0, depth);
		g->expected = NULL;
	}
	free(info);
}

static void add_polled(struct gathering *g, uint64_t address, uint64_t count) {
	struct pollfd set[POLL_PIECE];
	if (count > MAX_POLLED)
		g->out->doubts |= DOUBT_SET;
	for (uint64_t from = 0; from < count && from < MAX_POLLED; from += POLL_PIECE) {
		size_t piece = count - from < POLL_PIECE ? (size_t)(count - from) : POLL_PIECE;
		size_t bytes = piece * sizeof *set;
		if (proc_memory(g->process->pid, address + from * sizeof *set, set, bytes) != bytes) {
			g->out->doubts |= DOUBT_SET;
			return;
		}
		for (size_t i = 0; i < piece; i++)
			add(g, set[i].fd, (set[i].events & (POLLIN | POLLRDNORM)) != 0, (set[i].events & POLLOUT) != 0, 0);
	}
}

static void add_selected(struct gathering *g, uint64_t count, uint64_t address, bool reads) {
	unsigned char bits[MAX_SELECT / 8];
	if (address == 0 || count == 0)
		return;
	size_t wanted = ((size_t)count + 7) / 8;
	if (count > MAX_SELECT || proc_memory(g->process->pid, address, bits, wanted) != wanted) {
		g->out->doubts |= DOUBT_SET;
		return;
	}
	for (size_t fd = 0; fd < count; fd++)
		if (bits[fd / 8] & (1u << (fd % 8)))
			add(g, (int)fd, reads, !reads, 0);
}

// A ring's requests are not to be seen: those that the kernel has taken are in its own memory. The slots that they were
// given in are a hint, of which old ones are still there. Found by maps, as a mapping has no other name.
static void add_ring(struct gathering *g) {
	char path[32], line[512];
	g->out->others++;
	g->out->doubts |= DOUBT_SET;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)g->process->pid);
	FILE *maps = fopen(path, "re");
	if (maps == NULL)
		return;
	while (fgets(line, sizeof line, maps) != NULL) {
		unsigned long long start, end, offset;
		if (strstr(line, "[io_uring]") == NULL || sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) != 3 ||
		    offset != 0x10000000)
			continue;
		unsigned char slots[RING_ENTRIES * 64];
		size_t wanted = end - start < sizeof slots ? (size_t)(end - start) : sizeof slots;
		size_t got = proc_memory(g->process->pid, start, slots, wanted);
		for (size_t at = 0; at + 64 <= got; at += 64) {
			unsigned char operation = slots[at];
			int32_t fd;
			memcpy(&fd, slots + at + 4, sizeof fd);
			bool reads = operation == 1 || operation == 4 || operation == 6 || operation == 22; // READV, READ_FIXED, POLL_ADD, READ
			if (reads)
				add(g, fd, true, false, 0);
		}
	}
	fclose(maps);
}

static void classify(struct gathering *g) {
	struct blocked *out = g->out;
	// What its own process group can make ready is news to a reader, but no news from outside.
	if (g->reads)
		out->others += g->inside;
	if (g->reads)
		out->doing = DOING_TTY_POLL;
	else if (g->writes)
		out->doing = DOING_TTY_WRITE;
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
	add(g, fd, reads, !reads, 0);
	if (g->reads || g->writes)
		out->doing = g->reads ? DOING_TTY_READ : DOING_TTY_WRITE;
}

static void wait_on_futex(struct gathering *g, const struct call *call) {
	unsigned operation = (unsigned)call->argument[1];
	if (call->argument[3] != 0)
		sleep_until(g, call->argument[3], (operation & 0x7f) == FUTEX_BITSET,
		            operation & FUTEX_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC);
	// pthread_join uses a shared one within the process; otherwise another process wakes it, whichever that is.
	if ((operation & FUTEX_PRIVATE) == 0 && g->process->threads == 1)
		g->out->others++;
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
	if (place[0] == '\0')
		return true; // this kernel does not tell
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
		if (strncmp(place, places[i], strlen(places[i])) == 0)
			return true;
	return false;
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
	case SENDS: {
		// It waits for either side.
		struct gathering to = g;
		wait_for(&g, (int)argument[shape == SPLICES ? 0 : 1], true);
		if (!g.reads)
			wait_for(&to, (int)argument[shape == SPLICES ? 2 : 0], false);
		break;
	}
	case CONTROLS:
		if (drains(argument[1]))
			wait_for(&g, (int)argument[0], false);
		else {
			out->doing = DOING_UNKNOWN;
			out->doubts |= DOUBT_CALL;
		}
		break;
	case RECEIVES:
		add(&g, (int)argument[0], true, false, 0);
		out->others += out->others == 0;
		break;
	case POLLS:
		if ((int)argument[2] >= 0)
			limit_timeout(out, (int)argument[2]);
		add_polled(&g, argument[0], (unsigned)argument[1]);
		classify(&g);
		break;
	case PPOLLS:
		timeout_from(&g, argument[2], 1000000);
		add_polled(&g, argument[0], (unsigned)argument[1]);
		classify(&g);
		break;
	case SELECTS:
	case PSELECTS:
		timeout_from(&g, argument[4], shape == SELECTS ? 1000 : 1000000);
		add_selected(&g, (unsigned)argument[0], argument[1], true);
		add_selected(&g, (unsigned)argument[0], argument[2], false);
		classify(&g);
		break;
	case EPOLLS:
		if ((int)argument[3] >= 0)
			limit_timeout(out, (int)argument[3]);
		add_epoll(&g, (int)argument[0], 0);
		classify(&g);
		break;
	case EPOLLS_2:
		timeout_from(&g, argument[3], 1000000);
		add_epoll(&g, (int)argument[0], 0);
		classify(&g);
		break;
	case RING:
		add_ring(&g);
		classify(&g);
		break;
	case SLEEPS:
		sleep_until(&g, argument[0], false, CLOCK_MONOTONIC);
		out->doing = DOING_TIMER;
		break;
	case SLEEPS_ON_CLOCK:
		sleep_until(&g, argument[2], (argument[1] & TIMER_ABSTIME) != 0, (clockid_t)argument[0]);
		out->doing = DOING_TIMER;
		break;
	case SIGNALS: {
		uint64_t caught;
		if (!proc_caught(process->pid, &caught) || signals_wake(caught))
			limit_timeout(out, 0);
		break;
	}
	case SIGNALS_IN_TIME:
		// Which signals is in the set, and which of them a timer or the terminal sends is not known.
		limit_timeout(out, 0);
		break;
	case FUTEX:
		wait_on_futex(&g, call);
		break;
	case LOCKS:
		out->others = 1;
		break;
	case WAITS:
		out->doing = DOING_CHILD_WAIT;
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
