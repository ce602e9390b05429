// Linux: memory.max and pids.max for the programs of a session. See controllers.h.
//
// The controller of processor time is passed on where there is one: then the holder's share does not depend on how many
// its programs are. (Where it is, the scheduler has no autogroups to lose by that.)
#include "controllers.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"

#define LOOKS_MOST 3  // for strangers, while the programs start others …
#define ROUNDS_MOST 8 // … and of moving
#define TRIES_MOST 8  // for one cgroup, one at each measuring
#define PIDS_TEXT 65536

static struct {
	char path[CGROUP_PATH]; // of the cgroup that was last tried, or that the holder has moved into
	int tries;
	int own, holder, programs; // directories, or -1
	char holder_name[24], programs_name[24];
	int memory_events, tasks_events; // or -1
	uint64_t tasks;
} made = {.own = -1, .holder = -1, .programs = -1, .memory_events = -1, .tasks_events = -1};

struct session {
	pid_t self, main_pid;
	struct member *members; // room for a list
	size_t most;
};

// --- files ---------------------------------------------------------------------------------

static ssize_t text_of(int fd, char *out, size_t size) {
	ssize_t got = fd >= 0 ? pread(fd, out, size - 1, 0) : -1;
	out[got > 0 ? got : 0] = '\0';
	return got;
}

static ssize_t text_below(int directory, const char *file, char *out, size_t size) {
	int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	for (ssize_t got = 1; fd >= 0 && got > 0 && have < size - 1; have += got > 0 ? (size_t)got : 0) got = read(fd, out + have, size - 1 - have);
	if (fd >= 0) close(fd);
	out[have] = '\0';
	return fd < 0 ? -1 : (ssize_t)have;
}

// Of "name value" lines; 0 where it is missing.
static uint64_t value_of(const char *text, const char *name) {
	size_t length = strlen(name);
	for (const char *line = text; line != NULL; line = strchr(line, '\n'), line += line != NULL)
		if (strncmp(line, name, length) == 0 && line[length] == ' ') return strtoull(line + length, NULL, 10);
	return 0;
}

static bool has_word(const char *text, const char *word) {
	size_t length = strlen(word);
	for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
		if ((at == text || isspace((unsigned char)at[-1])) && (at[length] == '\0' || isspace((unsigned char)at[length]))) return true;
	return false;
}

static bool put_number(int directory, const char *file, uint64_t number) {
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, number);
	return cgroup_put(directory, file, text);
}

// --- moving --------------------------------------------------------------------------------

static const struct member *find(const struct member *members, size_t count, pid_t pid) {
	for (size_t i = 0; i < count; i++)
		if (members[i].pid == pid) return &members[i];
	return NULL;
}

// As in cgroup-linux.c: never another that has its pid by now.
static void move(const struct member *member) {
	if ((member->start == 0 && member->unique == 0) || tree_signal(member, 0) == ESRCH || !put_number(made.programs, "cgroup.procs", (uint64_t)member->pid)) return;
	if (tree_signal(member, 0) == ESRCH) put_number(made.own, "cgroup.procs", (uint64_t)member->pid);
}

struct sorted {
	size_t ours, others; // but for the holder
};

// Who is in there; with `moving`, ours go to where they belong.
static struct sorted sort_out(int from, const struct session *session, bool moving) {
	static char pids[PIDS_TEXT];
	bool complete;
	struct sorted sorted = {0, 0};
	size_t count = tree_list(session->self, session->main_pid, session->members, session->most, &complete);
	if (text_below(from, "cgroup.procs", pids, sizeof pids) < 0) return (struct sorted){.others = 1};
	char *at = pids, *end;
	for (long pid; pid = strtol(at, &end, 10), end > at; at = end) { // 0: of another pid namespace
		const struct member *member = find(session->members, count, (pid_t)pid);
		if (pid == session->self) {
			if (moving && from == made.own) put_number(made.holder, "cgroup.procs", (uint64_t)pid);
		} else if (member != NULL) {
			sorted.ours++;
			if (moving) move(member);
		} else {
			sorted.others++;
		}
	}
	return sorted;
}

// One that was started since the list was made is known in the next round; a stranger is not.
static bool is_alone(const struct session *session) {
	for (int look = 0; look < LOOKS_MOST; look++)
		if (sort_out(made.own, session, false).others == 0) return true;
	return false;
}

static bool move_all(const struct session *session) {
	for (int round = 0; round < ROUNDS_MOST; round++) {
		struct sorted sorted = sort_out(made.own, session, true);
		if (round > 0 && sorted.ours == 0 && sorted.others == 0) return true; // what was started by one that was not moved yet
	}
	return false;
}

static void move_back(int from) {
	static char pids[PIDS_TEXT];
	if (from < 0 || text_below(from, "cgroup.procs", pids, sizeof pids) <= 0) return;
	char *at = pids;
	for (long pid; (pid = strtol(at, &at, 10)) > 0;) put_number(made.own, "cgroup.procs", (uint64_t)pid);
}

// --- making --------------------------------------------------------------------------------

static void close_all(void) {
	int *const fds[] = {&made.own, &made.holder, &made.programs, &made.memory_events, &made.tasks_events};
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		if (*fds[i] >= 0) close(*fds[i]);
		*fds[i] = -1;
	}
}

// Each by itself: one that cannot be passed on does not keep the others from it.
static void pass_on(char sign) {
	static const char *const names[] = {"memory", "pids", "cpu"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char text[16];
		snprintf(text, sizeof text, "%c%s", sign, names[i]);
		cgroup_put(made.own, "cgroup.subtree_control", text);
	}
}

static void undo(void) {
	pass_on('-');
	move_back(made.programs), move_back(made.holder);
	unlinkat(made.own, made.programs_name, AT_REMOVEDIR);
	unlinkat(made.own, made.holder_name, AT_REMOVEDIR);
	close_all();
}

static int make(const char *name) {
	if (mkdirat(made.own, name, 0755) != 0 && errno != EEXIST) return -1;
	return cgroup_open_below(made.own, name);
}

// Only with the file that tells of it: an end that could not be named is worse than one by measuring.
static int bound(const char *events, const char *file, uint64_t most) {
	int fd = openat(made.programs, events, O_RDONLY | O_CLOEXEC);
	char ignored[512];
	if (fd >= 0 && put_number(made.programs, file, most)) {
		text_of(fd, ignored, sizeof ignored); // what comes after this wakes us
		return fd;
	}
	if (fd >= 0) close(fd);
	return -1;
}

static bool take(const struct controllers_wanted *wanted, const struct session *session) {
	char controllers[512];
	made.own = cgroup_open(made.path);
	bool usable = made.own >= 0 && cgroup_is_delegated(made.own) && text_below(made.own, "cgroup.controllers", controllers, sizeof controllers) >= 0;
	bool memory = usable && wanted->memory != 0 && has_word(controllers, "memory"), tasks = usable && wanted->tasks != 0 && has_word(controllers, "pids");
	if (!usable || (!memory && !tasks && !wanted->cpu) || !is_alone(session)) {
		close_all();
		return false;
	}
	snprintf(made.holder_name, sizeof made.holder_name, "holder-%d", (int)session->self);
	snprintf(made.programs_name, sizeof made.programs_name, "programs-%d", (int)session->self);
	made.holder = make(made.holder_name), made.programs = make(made.programs_name);
	if (made.holder < 0 || made.programs < 0 || !move_all(session)) {
		undo();
		return false;
	}
	pass_on('+');
	if (memory) {
		cgroup_put(made.programs, "memory.swap.max", "0"); // missing where there is no swap
		cgroup_put(made.programs, "memory.oom.group", "1"); // the session ends as a whole, as when it is measured
		made.memory_events = bound("memory.events.local", "memory.max", wanted->memory);
	}
	if (tasks) made.tasks_events = bound("pids.events", "pids.max", wanted->tasks);
	made.tasks = wanted->tasks;
	return true;
}

// The daemon puts those beside the holder that were started while it was given its scope.
static void move_on(const struct session *session) {
	char pids[64]; // of one process, as a rule
	if (text_below(made.holder, "cgroup.procs", pids, sizeof pids) > 0 && strchr(pids, '\n') != strrchr(pids, '\n')) sort_out(made.holder, session, true);
}

void controllers_step(const struct controllers_wanted *wanted, pid_t self, pid_t main_pid, struct member *members, size_t most) {
	struct session session = {.self = self, .main_pid = main_pid, .members = members, .most = most};
	char path[CGROUP_PATH];
	if (!cgroup_path(path)) return;
	if (strcmp(path, made.path) != 0) { // somebody moved the holder
		close_all();
		snprintf(made.path, sizeof made.path, "%s", path);
		made.tries = 0;
	}
	if (made.programs >= 0) move_on(&session);
	else if (made.tries++ < TRIES_MOST && take(wanted, &session)) cgroup_path(made.path);
}

// --- using ---------------------------------------------------------------------------------

bool controllers_bound_memory(void) { return made.memory_events >= 0; }

uint64_t controllers_cpu_us(void) {
	char text[512];
	return made.programs >= 0 && text_below(made.programs, "cpu.stat", text, sizeof text) > 0 ? value_of(text, "usage_usec") : 0;
}

int controllers_memory_events(void) { return made.memory_events; }
int controllers_tasks_events(void) { return made.tasks_events; }

// What cannot be read any more would wake us for ever.
static bool events(int *fd, char *out, size_t size) {
	if (*fd < 0) return false;
	if (text_of(*fd, out, size) > 0) return true;
	close(*fd);
	*fd = -1;
	return false;
}

enum controllers_reached controllers_reached(void) {
	char text[512];
	// Both: without the first it was another's limit, or the machine's memory, that had run out.
	if (events(&made.memory_events, text, sizeof text) && value_of(text, "oom") > 0 && value_of(text, "oom_kill") > 0) return REACHED_MEMORY;
	// Before Linux 6.11 a fork that a limit above refuses is counted here, too.
	if (events(&made.tasks_events, text, sizeof text) && value_of(text, "max") > 0 && text_below(made.programs, "pids.current", text, sizeof text) > 0 &&
	    strtoull(text, NULL, 10) > made.tasks / 2)
		return REACHED_TASKS;
	return REACHED_NONE;
}

bool controllers_kill(void) { return made.programs >= 0 && cgroup_put(made.programs, "cgroup.kill", "1"); }

void controllers_leave(void) {
	if (made.programs < 0) return;
	if (unlinkat(made.own, made.programs_name, AT_REMOVEDIR) != 0) return; // somebody could not be ended
	undo();
}
