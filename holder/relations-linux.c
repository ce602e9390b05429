// Who belongs to the session: its processes, and servers outside that hold its terminal. See probe.h.
//
// The tree is walked from the holder, which is a subreaper, so no process escapes it; all of
// /proc is read only for what cannot be a descendant.

#include "calls.h"
#include "crowd.h"
#include "ends.h"
#include "os.h"
#include "probe.h"
#include "sockets.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
	// Not for every probe: it reads all of /proc.
	OUTSIDE_MS = 1000,
};

static void add_process(struct attention *a, pid_t pid) {
	struct process *process = &a->processes[a->process_count];
	// Before anything else of it is read: see check_unchanged.
	uint64_t ran = proc_ran(pid);
	if (a->process_count == MAX_PROCESSES) {
		a->doubts |= DOUBT_LIST;
		return;
	}
	if (!proc_stat(pid, pid, process)) {
		bool gone = kill(pid, 0) != 0 && errno == ESRCH;
		a->doubts |= gone ? DOUBT_CHANGED : DOUBT_LIST; // its children are elsewhere now; or it is hidden
		return;
	}
	process->ran = ran;
	process->busy = process->helper = false;
	process->crowd = NULL;
	a->process_count++;
}

static void add_child(void *context, pid_t parent, int pid) {
	(void)parent;
	add_process(context, pid);
}

static void add_children(void *context, pid_t pid, int tid) {
	struct attention *a = context;
	if (!proc_children(pid, tid, add_child, a))
		a->doubts |= DOUBT_LIST;
}

static bool is_added(const struct attention *a, unsigned from, pid_t pid) {
	for (unsigned i = from; i < a->process_count; i++)
		if (a->processes[i].pid == pid)
			return true;
	return false;
}

// Only a thread that ran can have other children than before, but for the first: orphans come to it if the process is a
// subreaper.
static void add_children_of_crowd(struct attention *a, pid_t pid, struct crowd *crowd) {
	unsigned first = a->process_count;
	for (unsigned i = 0; i < crowd->count; i++)
		if (i == 0 || crowd->workers[i].awake)
			add_children(a, pid, crowd->workers[i].tid);
	for (unsigned i = 0; i < crowd->child_count; i++)
		if (!is_added(a, first, crowd->children[i]))
			add_process(a, crowd->children[i]);
	crowd_keep_children(crowd, &a->processes[first], a->process_count - first);
}

// Children hang off the thread that forked them.
static void add_children_of(struct attention *a, struct process *process) {
	process->crowd = crowd_read(process);
	if (process->crowd != NULL)
		add_children_of_crowd(a, process->pid, process->crowd);
	else if (process->threads == 1)
		add_children(a, process->pid, process->pid);
	else if (!proc_threads(process->pid, add_children, a))
		a->doubts |= DOUBT_LIST;
}

void add_descendants(struct attention *a, pid_t pid) {
	unsigned next = a->process_count;
	add_children(a, pid, pid);
	for (; next < a->process_count; next++)
		if (a->processes[next].state != 'Z' || a->processes[next].threads > 1)
			add_children_of(a, &a->processes[next]);
}

// The main process, bwrap and process 1 of the sandbox (holder/sandbox/sandbox.h): each is the only child of the one before.
// What the program starts is below these for good, since its orphans come to process 1.
static void mark_helpers(struct attention *a) {
	pid_t parent = a->root, pid = a->main_pid;
	for (unsigned i = 0, depth = 0; i < a->process_count && depth < 3; i++) { // parents come first
		struct process *process = &a->processes[i];
		if (process->parent != parent || (pid != 0 && process->pid != pid))
			continue;
		process->helper = true;
		parent = process->pid, pid = 0;
		depth++;
	}
}

void walk(struct attention *a) {
	a->process_count = 0;
	calls_begin();
	sockets_begin();
	ends_begin(a->processes, &a->process_count);
	add_descendants(a, a->root);
	if (a->confined)
		mark_helpers(a);
}

struct search {
	struct attention *attention;
	uid_t user;
	pid_t candidate, found;
};

static void match_descriptor(void *context, pid_t pid, int fd) {
	struct search *search = context;
	const struct terminal *ours = &search->attention->places[0].terminal;
	struct opened file;
	if (search->found == 0 && proc_descriptor(pid, fd, &file) && S_ISCHR(file.mode) && file.device == ours->device &&
	    file.system == ours->instance)
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
	proc_descriptors(pid, match_descriptor, search);
}

pid_t server_outside(struct attention *a) {
	pid_t group = a->places[0].group;
	int64_t now = now_us() / 1000;
	if (a->outside_group != group || now - a->outside_ms >= OUTSIDE_MS) {
		struct search search = {.attention = a, .user = getuid()};
		proc_processes(match_process, &search);
		a->outside = search.found;
		a->outside_group = group;
		a->outside_ms = now;
	}
	return a->outside;
}
