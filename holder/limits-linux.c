// Linux: what the processes of the session use, from /proc.
//
// RLIMIT_NPROC counts all processes of the user and RLIMIT_AS counts what is reserved (gigabytes, for node); neither is
// of a session, and the first does not bind root. So the tree is counted, here. Where the kernel bounds it, too
// (controllers.h), the count goes on: what was allocated before the cgroup was made, or by a program that moved itself
// out of it, is charged elsewhere; and processes are counted without their threads.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controllers.h"
#include "holder.h"
#include "os.h"
#include "proc.h"

#define MEMBERS_MOST 4096
#define PAUSE_US 250000
#define PAUSE_NEAR_US 50000 // above half of a limit: in a quarter of a second a hog takes half a gigabyte, and a bomb a thousand pids
#define COST_SHARE 10       // measuring takes a tenth of a processor at most
#define CPU_GRACE_US 2000000
#define CPU_LATE_US 1000000 // a single process is told by SIGXCPU first, and has a second to react

// The kernel counts threads as well, for which there is no limit of ours: a node has 11, a Java machine some dozens.
#define TASKS_EACH 16
#define TASKS_MORE 256

static struct {
	struct member members[MEMBERS_MOST];
	size_t count;
} tree; // the work's while it runs

bool limits_are_measured(void) { return true; }

static uint64_t limit_of(const struct block *block, enum block_limit which) {
	uint64_t most = (uint64_t)1 << 50; // beyond, it is none
	return block->limited[which] && block->limits[which] < most ? block->limits[which] : 0;
}

void limits_begin(struct holder *holder, const struct block *block) {
	struct limits *limits = &holder->limits;
	limits->cpu_us = limit_of(block, LIMIT_CPU) * 1000000;
	limits->memory = limit_of(block, LIMIT_MEMORY);
	limits->processes = limit_of(block, LIMIT_PROCESSES);
	if (limits_any(holder)) limits->at = holder->started_at + PAUSE_NEAR_US;
}

bool limits_any(const struct holder *holder) {
	const struct limits *limits = &holder->limits;
	return limits->cpu_us != 0 || limits->memory != 0 || limits->processes != 0;
}

// --- in the thread that measures ---------------------------------------------------------

static uint64_t field_bytes(const char *text, const char *name) {
	const char *line = strstr(text, name);
	return line == NULL ? 0 : strtoull(line + strlen(name), NULL, 10) * 1024;
}

// Its own pages: what is mapped from files can be dropped at any time.
static uint64_t memory_of(pid_t pid) {
	char status[4096];
	if (proc_text(pid, "status", status, sizeof status) <= 0) return 0;
	bool told = strstr(status, "\nRssAnon:") != NULL; // Linux 4.5
	uint64_t resident = told ? field_bytes(status, "\nRssAnon:") + field_bytes(status, "\nRssShmem:") : field_bytes(status, "\nVmRSS:");
	return resident + field_bytes(status, "\nVmSwap:");
}

// What it shares with others (after a fork, nearly all) in equal parts. Slower, and another user's is not readable.
static uint64_t part_of(pid_t pid) {
	char rollup[4096];
	bool told = proc_text(pid, "smaps_rollup", rollup, sizeof rollup) > 0 && strstr(rollup, "\nPss_Anon:") != NULL;
	if (!told) return memory_of(pid);
	return field_bytes(rollup, "\nPss_Anon:") + field_bytes(rollup, "\nPss_Shmem:") + field_bytes(rollup, "\nSwapPss:");
}

static uint64_t sum(uint64_t (*of)(pid_t)) {
	uint64_t all = 0;
	for (size_t i = 0; i < tree.count; i++) all += of(tree.members[i].pid);
	return all;
}

// Its own, and that of the children it has waited for.
static uint64_t cpu_of(pid_t pid) {
	char text[1024];
	unsigned long long own, kernel;
	long long children, children_kernel;
	char *close = proc_text(pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
	if (close == NULL || sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &own, &kernel, &children, &children_kernel) != 4)
		return 0;
	return (own + kernel + (uint64_t)(children + children_kernel)) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static uint64_t microseconds(struct timeval time) { return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec; }

static void measure(void *context) {
	struct limits *limits = context;
	if (limits->cpu_us != 0) {
		struct rusage reaped;
		// First those that ended, then parents before their children: one that ends meanwhile is missed, never counted twice.
		getrusage(RUSAGE_CHILDREN, &reaped);
		limits->cpu_used = microseconds(reaped.ru_utime) + microseconds(reaped.ru_stime) + sum(cpu_of);
		// With those that ended and for whom nobody waited (SIGCHLD ignored).
		uint64_t counted = controllers_cpu_us();
		if (counted > limits->cpu_used) limits->cpu_used = counted;
	}
	if (limits->memory != 0) {
		limits->memory_used = sum(memory_of);
		if (limits->memory_used > limits->memory) limits->memory_used = sum(part_of);
	}
}

// --- the loop's ---------------------------------------------------------------------------

static void control(const struct holder *holder) {
	const struct limits *limits = &holder->limits;
	struct controllers_wanted wanted = {.memory = limits->memory, .cpu = limits->cpu_us != 0};
	if (limits->processes != 0) wanted.tasks = limits->processes * TASKS_EACH + TASKS_MORE;
	controllers_step(&wanted, holder->self, holder->main_exited ? 0 : holder->main_pid, tree.members, MEMBERS_MOST);
}

static bool may_be_measured(const struct holder *holder) {
	return holder->limits.at != 0 && (holder->end.phase == END_IDLE || holder->end.phase == END_ASKING) && !holder->closed;
}

// One that is being ended already keeps its reason, but loses its grace.
static void exceeded(struct holder *holder, const char *reason, int64_t grace_us, int64_t now) {
	bool first = holder->end.phase == END_IDLE;
	if (!first && grace_us > 0) return;
	char json[80];
	snprintf(json, sizeof json, "{\"event\":\"ending\",\"reason\":\"%s\"}", reason);
	if (first) send_event(holder, json);
	end_begin(&holder->end, first ? reason : holder->end.reason, grace_us, now);
}

static bool is_near(uint64_t used, uint64_t limit) { return limit != 0 && used > limit / 2; }

static void judge(struct holder *holder, int64_t now) {
	struct limits *limits = &holder->limits;
	int64_t cost = now - limits->work.began, pause = PAUSE_US;
	if (limits->memory != 0 && limits->memory_used > limits->memory) exceeded(holder, "memory", 0, now);
	else if (limits->cpu_us != 0 && limits->cpu_used >= limits->cpu_us + CPU_LATE_US) exceeded(holder, "cpu_time", CPU_GRACE_US, now);
	bool memory_near = !controllers_bound_memory() && is_near(limits->memory_used, limits->memory);
	if (memory_near || is_near(tree.count, limits->processes)) pause = PAUSE_NEAR_US;
	limits->at = now + (cost * COST_SHARE > pause ? cost * COST_SHARE : pause);
}

bool limits_step(struct holder *holder, int64_t now) {
	struct limits *limits = &holder->limits;
	if (limits->work.state == WORK_RUNNING) return true;
	if (limits->work.state == WORK_NONE) {
		if (!may_be_measured(holder) || now < limits->at) return true;
		bool complete;
		control(holder);
		limits->work.run = measure, limits->work.context = limits, limits->work.began = now;
		tree.count = tree_list(holder->self, holder->main_exited ? 0 : holder->main_pid, tree.members, MEMBERS_MOST, &complete);
		if (limits->processes != 0 && (tree.count > limits->processes || tree.count == MEMBERS_MOST)) {
			exceeded(holder, "processes", 0, now);
			limits->at = now + PAUSE_US;
			return true;
		}
		if (!work_do(&limits->work)) return false;
	}
	limits->work.state = WORK_NONE;
	judge(holder, now_us());
	return true;
}

int64_t limits_next(const struct holder *holder) {
	if (holder->limits.work.state == WORK_DONE) return 1; // now
	return holder->limits.work.state == WORK_NONE && may_be_measured(holder) ? holder->limits.at : 0;
}

// --- what the kernel tells ------------------------------------------------------------------

void limits_poll(struct pollfd fds[LIMITS_FDS]) {
	fds[0] = (struct pollfd){.fd = controllers_memory_events(), .events = POLLPRI};
	fds[1] = (struct pollfd){.fd = controllers_tasks_events(), .events = POLLPRI};
}

void limits_told(struct holder *holder, int64_t now) {
	static const char *const reasons[] = {[REACHED_MEMORY] = "memory", [REACHED_TASKS] = "processes"};
	enum controllers_reached reached = controllers_reached();
	if (reached != REACHED_NONE && (holder->end.phase == END_IDLE || holder->end.phase == END_ASKING)) exceeded(holder, reasons[reached], 0, now);
}

void limits_leave(void) { controllers_leave(); }
