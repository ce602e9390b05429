// From a system call and its arguments to what a thread waits for. See blocked.h.
//
// While a thread is blocked, user memory still holds the request it made: the
// poll set, the select bits, the timeout. An epoll set is in fdinfo.

#include "blocked.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

enum {
	MAX_POLLED = 256,        // pollfds or set bits examined; a program that polls more is not interactive
	MAX_SELECT = 65536,      // the highest descriptor of a select set
	MAX_EPOLL_DEPTH = 3,
	MAX_RING_ENTRIES = 128,
};

enum shape {
	READS,   // (fd, …)
	WRITES,  // (fd, …)
	POLLS,   // (pollfd *, count, timeout ms)
	PPOLLS,  // (pollfd *, count, timespec *)
	SELECTS, // (n, read, write, except, timeval *)
	PSELECTS,
	EPOLLS,   // (epfd, events, max, timeout ms)
	EPOLLS_2, // … timespec *
	RING,     // (ring, submit, complete, flags)
	SLEEPS,   // (timespec *)
	SLEEPS_ON_CLOCK, // (clock, flags, timespec *)
	WAITS,    // for a child
	ACCEPTS,
	RESTARTS, // one of the above, after a stop: the registers still hold its arguments
	RECEIVES, // (fd, …), never a terminal
	OTHERS,
};

struct meaning {
	long number;
	enum shape shape;
	const char *name;
};

static const struct meaning native[] = {
#define CALL(name, shape) {SYS_##name, shape, #name},
	CALL(read, READS) CALL(readv, READS) CALL(write, WRITES) CALL(writev, WRITES)
#ifdef SYS_poll
	CALL(poll, POLLS)
#endif
#ifdef SYS_ppoll
	CALL(ppoll, PPOLLS)
#endif
#ifdef SYS_select
	CALL(select, SELECTS)
#endif
#ifdef SYS_pselect6
	CALL(pselect6, PSELECTS)
#endif
#ifdef SYS_epoll_wait
	CALL(epoll_wait, EPOLLS)
#endif
	CALL(epoll_pwait, EPOLLS)
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, EPOLLS_2)
#endif
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter, RING)
#endif
	CALL(nanosleep, SLEEPS) CALL(clock_nanosleep, SLEEPS_ON_CLOCK)
	CALL(wait4, WAITS) CALL(waitid, WAITS) CALL(accept, ACCEPTS) CALL(accept4, ACCEPTS)
	CALL(restart_syscall, RESTARTS)
	CALL(rt_sigsuspend, OTHERS) CALL(rt_sigtimedwait, OTHERS)
#ifdef SYS_pause
	CALL(pause, OTHERS)
#endif
	CALL(recvfrom, RECEIVES) CALL(recvmsg, RECEIVES) CALL(sendto, RECEIVES) CALL(sendmsg, RECEIVES)
	CALL(connect, RECEIVES) CALL(futex, OTHERS) CALL(flock, OTHERS) CALL(fsync, OTHERS) CALL(splice, OTHERS)
	CALL(sendfile, OTHERS)
#undef CALL
};

// 32-bit programs on a 64-bit kernel have the numbers of their own world (i386; those of 32-bit ARM agree but for
// epoll). Their pollfds are the same, and so are set bits on a little-endian machine.
static const struct meaning compat[] = {
	{3, READS, "read"},           {4, WRITES, "write"},         {145, READS, "readv"},    {146, WRITES, "writev"},
	{168, POLLS, "poll"},         {82, OTHERS, "select"},       {142, SELECTS, "select"}, {308, PSELECTS, "pselect6"},
	{309, PPOLLS, "ppoll"},       {413, PSELECTS, "pselect6"},  {414, PPOLLS, "ppoll"},   {162, SLEEPS, "nanosleep"},
	{7, WAITS, "waitpid"},        {114, WAITS, "wait4"},        {284, WAITS, "waitid"},   {0, RESTARTS, "restart_syscall"},
	{407, SLEEPS_ON_CLOCK, "clock_nanosleep"},                  {267, SLEEPS_ON_CLOCK, "clock_nanosleep"},
#ifdef __aarch64__
	{252, EPOLLS, "epoll_wait"},  {346, EPOLLS, "epoll_pwait"},
#else
	{256, EPOLLS, "epoll_wait"},  {319, EPOLLS, "epoll_pwait"},
#endif
	{29, OTHERS, "pause"},        {179, OTHERS, "rt_sigsuspend"}, {240, OTHERS, "futex"},
};

struct gathering {
	const struct process *process;
	const struct terminal *terminal;
	bool reads, writes; // the terminal is in the set, for input or for output
	unsigned seen;
	bool narrow; // a 32-bit process
	struct blocked *out;
};

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
	if (g->narrow) {
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

static void add(struct gathering *g, int fd, bool reads, bool writes, unsigned depth) {
	struct blocked *out = g->out;
	if (fd < 0 || g->seen++ >= MAX_POLLED)
		return;
	switch (descriptor_kind(g->process, fd, g->terminal)) {
	case FD_TERMINAL:
		if (reads || !g->reads)
			out->fd = fd;
		g->reads |= reads;
		g->writes |= writes;
		break;
	case FD_EPOLL:
		add_epoll(g, fd, depth + 1);
		break;
	case FD_TIMER: {
		char info[512];
		long long seconds, nanoseconds;
		proc_descriptor_info(g->process->pid, fd, info, sizeof info);
		char *line = strstr(info, "it_value: (");
		if (line != NULL && sscanf(line, "it_value: (%lld, %lld)", &seconds, &nanoseconds) == 2 &&
		    (seconds > 0 || nanoseconds > 0))
			limit_timeout(out, clamp_ms(seconds * 1000 + nanoseconds / 1000000));
		break;
	}
	case FD_LISTEN:
		out->listens = true;
		break;
	case FD_MASTER:
	case FD_OUTSIDE:
		out->others++;
		break;
	case FD_WAKE:
	case FD_GONE:
		break;
	}
}

static void add_epoll(struct gathering *g, int epoll, unsigned depth) {
	// A line is about 70 bytes: room for a hundred.
	char info[8192];
	if (depth > MAX_EPOLL_DEPTH)
		return;
	proc_descriptor_info(g->process->pid, epoll, info, sizeof info);
	for (char *line = strstr(info, "tfd:"); line != NULL; line = strstr(line + 4, "tfd:")) {
		int fd;
		unsigned events;
		if (sscanf(line, "tfd: %d events: %x", &fd, &events) == 2)
			add(g, fd, (events & (EPOLLIN | EPOLLRDNORM)) != 0, (events & EPOLLOUT) != 0, depth);
	}
}

static bool add_polled(struct gathering *g, uint64_t address, uint64_t count) {
	struct pollfd set[MAX_POLLED];
	size_t wanted = (count < MAX_POLLED ? (size_t)count : MAX_POLLED) * sizeof *set;
	if (proc_memory(g->process->pid, address, set, wanted) != wanted)
		return false;
	for (size_t i = 0; i < wanted / sizeof *set; i++)
		add(g, set[i].fd, (set[i].events & (POLLIN | POLLRDNORM)) != 0, (set[i].events & POLLOUT) != 0, 0);
	return true;
}

static void add_selected(struct gathering *g, uint64_t count, uint64_t address, bool reads) {
	unsigned char bits[MAX_SELECT / 8];
	if (address == 0 || count == 0 || count > MAX_SELECT)
		return;
	size_t got = proc_memory(g->process->pid, address, bits, ((size_t)count + 7) / 8);
	for (size_t fd = 0; fd < count && fd / 8 < got; fd++)
		if (bits[fd / 8] & (1u << (fd % 8)))
			add(g, (int)fd, reads, !reads, 0);
}

// Best effort: the slots of the submission ring, of which old ones are still there. Hence never more than a hint.
static void add_ring(struct gathering *g) {
	char path[32], line[512];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)g->process->pid);
	FILE *maps = fopen(path, "re");
	if (maps == NULL)
		return;
	while (fgets(line, sizeof line, maps) != NULL) {
		unsigned long long start, end, offset;
		if (strstr(line, "[io_uring]") == NULL || sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) != 3 ||
		    offset != 0x10000000)
			continue;
		unsigned char slots[MAX_RING_ENTRIES * 64];
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
	g->out->others++;
}

static void classify(struct gathering *g) {
	struct blocked *out = g->out;
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

static void sleep_until(struct gathering *g, const struct call *call) {
	long long seconds, nanoseconds;
	struct timespec now;
	if (!read_span(g, call->argument[2], &seconds, &nanoseconds))
		return;
	if ((call->argument[1] & TIMER_ABSTIME) != 0 && clock_gettime((clockid_t)call->argument[0], &now) == 0) {
		seconds -= now.tv_sec;
		nanoseconds -= now.tv_nsec;
	}
	limit_timeout(g->out, clamp_ms(seconds * 1000 + nanoseconds / 1000000));
}

static const struct meaning *meaning_of(long number, bool narrow) {
	const struct meaning *table = narrow ? compat : native;
	size_t count = narrow ? sizeof compat / sizeof *compat : sizeof native / sizeof *native;
	for (size_t i = 0; i < count; i++)
		if (table[i].number == number)
			return &table[i];
	return NULL;
}

void blocked_in(const struct process *process, const struct call *call, const struct terminal *terminal,
                struct blocked *out) {
	*out = (struct blocked){.doing = DOING_OTHER, .fd = -1};
	// A 64-bit program has its stack above 4 GiB.
	bool narrow = sizeof(void *) == 8 && call->stack < (1ull << 32);
	struct gathering g = {.process = process, .terminal = terminal, .narrow = narrow, .out = out};
	const struct meaning *meaning = meaning_of(call->number, narrow);
	if (meaning == NULL)
		return;
	const uint64_t *argument = call->argument;
	enum shape shape = meaning->shape;
	out->call = meaning->name;
	if (shape == RESTARTS) {
		// Of the calls that restart this way only poll takes descriptors; the others are ways to sleep.
		bool polls = looks_like_poll(&g, call);
		shape = polls ? POLLS : RESTARTS;
		out->call = polls ? "poll" : out->call;
	}
	switch (shape) {
	case READS:
	case WRITES: {
		enum descriptor kind = descriptor_kind(process, (int)argument[0], terminal);
		if (kind == FD_TERMINAL) {
			out->doing = shape == READS ? DOING_TTY_READ : DOING_TTY_WRITE;
			out->fd = (int)argument[0];
		}
		out->others = kind == FD_OUTSIDE || kind == FD_MASTER;
		break;
	}
	case RECEIVES:
		out->others = 1;
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
		timeout_from(&g, argument[0], 1000000);
		out->doing = DOING_TIMER;
		break;
	case SLEEPS_ON_CLOCK:
		sleep_until(&g, call);
		out->doing = DOING_TIMER;
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
	case OTHERS:
		break;
	}
}
