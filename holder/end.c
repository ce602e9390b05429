// TERM and CONT to all, KILL after the grace. Done when the kernel knows no child of
// ours, or after two complete passes that find no process: a fork can be missed by one.
//
// A hang-up must not cut short the grace of a program that cleans up on TERM. It would
// come from us to those who ignore TERM (interactive shells, which pass it on to their
// jobs), and from the kernel to the foreground when the session's leader dies. So both
// wait until no process is left that catches TERM.
#include "end.h"

#include <errno.h>
#include <signal.h>

#include "cgroup.h"

#define MEMBERS_MOST 4096
#define LOOK_FIRST_US 1000
#define LOOK_MOST_US 50000
#define ROUNDS_MOST 64         // of killing at one go: enough for a fork bomb to lose
#define HANG_UP_AFTER_US 1000000 // a set-uid program may not be signalled by us; the kernel's hang-up reaches it
#define HUP_AGAIN_US 250000    // bash misses one that comes just before it waits for a key
#define GIVE_UP_AFTER_US 3000000 // what KILL did not end by then is stuck in the kernel or not ours to end

static struct member members[MEMBERS_MOST];

size_t end_signal_tree(pid_t root, pid_t main_pid, int signal, int *error) {
	bool complete;
	size_t count = tree_list(root, main_pid, members, MEMBERS_MOST, &complete);
	*error = 0;
	for (size_t i = 0; i < count; i++) {
		int refused = tree_signal(&members[i], signal);
		if (refused != 0 && refused != ESRCH) *error = refused;
	}
	return count;
}

size_t end_who(pid_t root, pid_t main_pid, struct member reported[SURVIVORS_REPORTED], bool *complete) {
	size_t count = tree_list(root, main_pid, members, MEMBERS_MOST, complete);
	size_t some = count < SURVIVORS_REPORTED ? count : SURVIVORS_REPORTED;
	for (size_t i = 0; i < some; i++) reported[i] = members[i];
	tree_starts(reported, some);
	return count;
}

static void start_killing(struct end *end, int64_t now) {
	end->phase = END_KILLING;
	end->hang_up_at = now + HANG_UP_AFTER_US;
	end->give_up_at = now + GIVE_UP_AFTER_US;
	end->pause = LOOK_FIRST_US;
}

// Of the members that were just listed: does any but the main program take time to end? One that cannot be looked at may.
static bool others_need_the_grace(size_t count, pid_t main_pid) {
	for (size_t i = 0; i < count; i++) {
		enum disposition term = tree_disposition(members[i].pid, SIGTERM);
		if (members[i].pid != main_pid && (term == DISPOSITION_CAUGHT || term == DISPOSITION_UNKNOWN)) return true;
	}
	return false;
}

static void ask(struct end *end, pid_t root, pid_t main_pid) {
	bool complete;
	size_t count = tree_list(root, main_pid, members, MEMBERS_MOST, &complete);
	bool leader_dies = main_pid > 0 && tree_disposition(main_pid, SIGTERM) == DISPOSITION_DEFAULT;
	end->leader_due = leader_dies && others_need_the_grace(count, main_pid);
	for (size_t i = 0; i < count; i++) {
		if (end->leader_due && members[i].pid == main_pid) {
			tree_signal(&members[i], SIGSTOP);
			continue;
		}
		tree_signal(&members[i], SIGTERM);
		tree_signal(&members[i], SIGCONT); // a stopped program gets no signal until it continues
	}
}

// Those who waited for the others.
static void ask_the_rest(struct end *end, int64_t now, size_t count, pid_t main_pid) {
	bool main_needs_it = main_pid > 0 && !end->leader_due && tree_disposition(main_pid, SIGTERM) == DISPOSITION_CAUGHT;
	if (now < end->hup_at || main_needs_it || others_need_the_grace(count, main_pid)) return;
	end->hup_at = now + HUP_AGAIN_US;
	for (size_t i = 0; i < count; i++) {
		if (end->leader_due && members[i].pid == main_pid) {
			tree_signal(&members[i], SIGTERM); // pending, and so the first thing that happens when it continues
			tree_signal(&members[i], SIGCONT);
			end->leader_due = false;
		} else if (tree_disposition(members[i].pid, SIGTERM) == DISPOSITION_IGNORED) {
			tree_signal(&members[i], SIGHUP);
		}
	}
}

void end_begin(struct end *end, const char *reason, int64_t grace_us, int64_t now) {
	end->reason = reason;
	end->clean_passes = 0;
	end->look_at = now;
	if (end->phase == END_IDLE && grace_us > 0) {
		end->phase = END_ASKING;
		end->kill_at = now + grace_us;
		end->hup_at = now;
		end->pause = LOOK_FIRST_US;
	} else {
		start_killing(end, now);
	}
}

bool end_step(struct end *end, int64_t now, pid_t root, pid_t main_pid) {
	if (end->phase != END_ASKING && end->phase != END_KILLING) return false;
	if (end->phase == END_ASKING && now >= end->kill_at) start_killing(end, now);
	if (end->phase == END_ASKING && !end->asked) end->asked = true, ask(end, root, main_pid);
	size_t living = 0;
	bool complete = true;
	for (int round = 0; round < ROUNDS_MOST; round++) {
		living = tree_list(root, main_pid, members, MEMBERS_MOST, &complete);
		if (end->phase == END_KILLING) {
			cgroup_kill(members, living);
			for (size_t i = 0; i < living; i++) tree_signal(&members[i], SIGKILL);
		} else ask_the_rest(end, now, living, main_pid);
		if (living > 0 || !complete) end->clean_passes = 0;
		else if (++end->clean_passes >= 2) break;
		// Killing repeats at once only while it may be racing against new forks.
		if (!complete || (living > 0 && (end->phase == END_ASKING || living < 8))) break;
	}
	bool gave_up = end->phase == END_KILLING && now >= end->give_up_at;
	if (end->clean_passes >= 2 || gave_up) {
		cgroup_remove();
		end->phase = END_OVER;
		end->survivors = living + (complete ? 0 : 1);
		return true;
	}
	if (end->phase == END_KILLING && now >= end->hang_up_at) end->hang_up = true;
	end->look_at = now + end->pause;
	end->pause = end->pause * 2 < LOOK_MOST_US ? end->pause * 2 : LOOK_MOST_US;
	if (end->phase == END_ASKING && end->look_at > end->kill_at) end->look_at = end->kill_at;
	return false;
}
