// What is in the set that a thread waits for. See set.h.

#include "set.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sysmacros.h>

enum {
	POLL_PIECE = 256,    // pollfds read at once
	MAX_EPOLL_DEPTH = 5, // the kernel allows as many
	MAX_EPOLL_BYTES = 16 << 20,
	RING_ENTRIES = 128,
	FIRST_REALTIME_SIGNAL = 34, // those below are the C library's own
};

bool signals_wake(uint64_t signals) {
	static const int those[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGIO};
	for (unsigned i = 0; i < sizeof those / sizeof *those; i++)
		if (signals >> (those[i] - 1) & 1)
			return true;
	return signals >> (FIRST_REALTIME_SIGNAL - 1) != 0;
}

void limit_timeout(struct blocked *out, long ms) {
	if (!out->timed || ms < out->timeout_ms)
		out->timeout_ms = ms;
	out->timed = true;
}

long clamp_ms(long long ms) {
	return ms < 0 ? 0 : ms > 0x7fffffff ? 0x7fffffff : (long)ms;
}

bool read_span(const struct gathering *g, uint64_t address, long long *seconds, long long *rest) {
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

void timeout_from(struct gathering *g, uint64_t address, long per_ms) {
	long long seconds, rest;
	if (read_span(g, address, &seconds, &rest))
		limit_timeout(g->out, clamp_ms(seconds * 1000 + rest / per_ms));
	else if (address != 0)
		limit_timeout(g->out, 0);
}

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
	g->out->signalled |= line == NULL || signals_wake(strtoull(line + 8, NULL, 16));
}

void set_add(struct gathering *g, int fd, bool reads, bool writes, unsigned depth) {
	struct blocked *out = g->out;
	if (fd < 0)
		return;
	if (g->seen++ >= MAX_POLLED) {
		out->doubts |= DOUBT_SET;
		return;
	}
	switch (descriptor_kind(g->process, fd, g->terminal, writes && !reads, g->expected)) {
	case FD_TERMINAL_MAYBE:
		out->doubts |= DOUBT_SET;
		/* fall through */
	case FD_TERMINAL:
		if (reads || !g->reads)
			out->fd = fd;
		g->reads |= reads;
		g->writes |= writes;
		if (writes)
			out->risks |= RISK_MIXED;
		break;
	case FD_EPOLL:
		out->risks |= RISK_MIXED;
		set_add_epoll(g, fd, depth + 1);
		break;
	case FD_TIMER:
		// Whoever has it, too, may arm it.
		out->risks |= RISK_MIXED;
		add_timer(g, fd);
		break;
	case FD_SIGNALS:
		out->risks |= RISK_MIXED;
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
	case FD_GONE: // closed while the thread sleeps: it waits for what was there
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
		out->wakes = true;
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

void set_add_epoll(struct gathering *g, int epoll, unsigned depth) {
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
		set_add(g, fd, (events & (EPOLLIN | EPOLLRDNORM)) != 0, (events & EPOLLOUT) != 0, depth);
		g->expected = NULL;
		if (file.unnamed)
			g->out->doubts |= DOUBT_SET;
	}
	free(info);
}

// A set in memory that other processes map, too, may be another by now than when the call began.
static void check_memory(struct gathering *g, uint64_t address, size_t length) {
	if (g->reads && length > 0 && (proc_is_shared(g->process, address) || proc_is_shared(g->process, address + length - 1)))
		g->out->risks |= RISK_SHARES;
}

void set_add_polled(struct gathering *g, uint64_t address, uint64_t count) {
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
			set_add(g, set[i].fd, (set[i].events & (POLLIN | POLLRDNORM)) != 0, (set[i].events & POLLOUT) != 0, 0);
	}
	check_memory(g, address, count * sizeof *set);
}

void set_add_selected(struct gathering *g, uint64_t count, uint64_t address, enum selected set) {
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
			set_add(g, (int)fd, set == SELECT_READS, set == SELECT_WRITES, 0);
	check_memory(g, address, wanted);
}

// A ring's requests are not to be seen: those that the kernel has taken are in its own memory. The slots that they were
// given in are a hint, of which old ones are still there. Found by maps, as a mapping has no other name.
void set_add_ring(struct gathering *g) {
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
				set_add(g, fd, true, false, 0);
		}
	}
	fclose(maps);
}
