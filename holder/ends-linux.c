// Ends of pipes and sockets, of all processes of the session. See ends.h.
//
// A process outside the session could hold one only if it was passed over a socket; those are not searched, but a
// number that no process of the session holds counts as held outside.

#include "ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENDS = 1 << 16, LINK_BYTES = 64 };

struct end {
	enum end_kind kind;
	uint64_t number;
	pid_t pid, group;
	int fd;
};

static struct {
	const struct process *processes;
	const unsigned *process_count;
	struct end *ends;
	size_t count, capacity;
	bool read, whole;
} session;

void ends_begin(const struct process *processes, const unsigned *count) {
	session.processes = processes;
	session.process_count = count;
	session.read = false;
}

bool end_number(const char *link, const char *kind, uint64_t *out) {
	size_t length = strlen(kind);
	if (strncmp(link, kind, length) != 0 || link[length] != ':' || link[length + 1] != '[')
		return false;
	*out = strtoull(link + length + 2, NULL, 10);
	return true;
}

bool event_number(pid_t pid, int fd, uint64_t *out) {
	char info[512];
	proc_descriptor_info(pid, fd, info, sizeof info);
	char *line = strstr(info, "eventfd-id:");
	if (line == NULL)
		return false;
	*out = strtoull(line + 11, NULL, 10);
	return true;
}

static void add_end(void *context, pid_t pid, int fd) {
	const struct process *process = context;
	struct end end = {.pid = pid, .group = process->group, .fd = fd};
	char link[LINK_BYTES];
	proc_descriptor_link(pid, fd, link, sizeof link);
	if (end_number(link, "pipe", &end.number))
		end.kind = END_PIPE;
	else if (end_number(link, "socket", &end.number))
		end.kind = END_SOCKET;
	else if (strstr(link, "[eventfd]") != NULL && event_number(pid, fd, &end.number))
		end.kind = END_EVENTS;
	else
		return;
	if (session.count == session.capacity) {
		size_t capacity = session.capacity == 0 ? 256 : session.capacity * 2;
		struct end *grown = capacity > MAX_ENDS ? NULL : realloc(session.ends, capacity * sizeof *grown);
		if (grown == NULL) {
			session.whole = false;
			return;
		}
		session.ends = grown;
		session.capacity = capacity;
	}
	session.ends[session.count++] = end;
}

static int by_number(const void *a, const void *b) {
	const struct end *one = a, *other = b;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

static void read_all(void) {
	session.count = 0;
	session.whole = session.read = true;
	for (unsigned i = 0; i < *session.process_count; i++) {
		const struct process *process = &session.processes[i];
		if (process->state != 'Z' && !proc_descriptors(process->pid, add_end, (void *)(uintptr_t)process))
			session.whole = false;
	}
	if (session.count > 0)
		qsort(session.ends, session.count, sizeof *session.ends, by_number);
}

// The first of those with this number; NULL: none.
static const struct end *first_end(const struct end *wanted) {
	if (!session.read)
		read_all();
	const struct end *end = session.count == 0 ? NULL : bsearch(wanted, session.ends, session.count, sizeof *end, by_number);
	while (end != NULL && end > session.ends && by_number(end - 1, wanted) == 0)
		end--;
	return end;
}

bool ends_lead_away(const struct process *asking, uint64_t pipe, bool readers) {
	struct end wanted = {.kind = END_PIPE, .number = pipe};
	bool away = false;
	for (const struct end *end = first_end(&wanted); end != NULL && end < session.ends + session.count && by_number(end, &wanted) == 0; end++) {
		if (!(readers ? proc_descriptor_reads : proc_descriptor_writes)(end->pid, end->fd))
			continue;
		if (end->group == asking->group)
			return false;
		away = true;
	}
	return away || !session.whole;
}

enum reach ends_reach(const struct process *asking, enum end_kind kind, uint64_t number, bool readers) {
	struct end wanted = {.kind = kind, .number = number};
	const struct end *end = first_end(&wanted);
	if (end == NULL || !session.whole)
		return REACH_WIDER;
	bool held = false;
	enum reach reach = REACH_OWN;
	for (; end < session.ends + session.count && by_number(end, &wanted) == 0; end++) {
		if (kind == END_PIPE && !(readers ? proc_descriptor_reads : proc_descriptor_writes)(end->pid, end->fd))
			continue;
		held = true;
		if (end->pid != asking->pid && reach == REACH_OWN)
			reach = REACH_GROUP;
		if (end->pid != asking->pid && end->group != asking->group)
			return REACH_WIDER;
	}
	return held ? reach : REACH_WIDER;
}
