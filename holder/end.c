// TERM and CONT to all, HUP to those that ignore TERM and, half-way, to all that are
// left; KILL after the grace. Done after two passes that find no process, because a
// fork can be missed by one.
#include "end.h"

#include <errno.h>
#include <signal.h>

#define MEMBERS_MOST 4096
#define LOOK_FIRST_US 1000
#define LOOK_MOST_US 50000
#define ROUNDS_MOST 64         // of killing at one go: enough for a fork bomb to lose
#define HANG_UP_AFTER_US 1000000 // a set-uid program may not be signalled by us; the kernel's hang-up reaches it
#define GIVE_UP_AFTER_US 3000000 // what KILL did not end by then is stuck in the kernel or not ours to end

static struct member members[MEMBERS_MOST];

size_t end_signal_tree(pid_t root, pid_t main_pid, int signal, int *error) {
	size_t count = tree_list(root, main_pid, members, MEMBERS_MOST);
	*error = 0;
	for (size_t i = 0; i < count; i++)
		if (kill(members[i].pid, signal) != 0 && errno != ESRCH) *error = errno;
	return count;
}

size_t end_who(pid_t root, pid_t main_pid, struct member reported[SURVIVORS_REPORTED]) {
	size_t count = tree_list(root, main_pid, members, MEMBERS_MOST);
	for (size_t i = 0; i < count && i < SURVIVORS_REPORTED; i++) reported[i] = members[i];
	return count;
}

// Interactive shells ignore TERM and go by HUP. Sent to everybody at once it would kill, in mid-sentence,
// programs that clean up on TERM.
static void hang_up_the_deaf(pid_t root, pid_t main_pid) {
	size_t count = tree_list(root, main_pid, members, MEMBERS_MOST);
	for (size_t i = 0; i < count; i++)
		if (tree_ignores(members[i].pid, SIGTERM)) kill(members[i].pid, SIGHUP);
}

static void start_killing(struct end *end, int64_t now) {
	end->phase = END_KILLING;
	end->hang_up_at = now + HANG_UP_AFTER_US;
	end->give_up_at = now + GIVE_UP_AFTER_US;
	end->pause = LOOK_FIRST_US;
}

void end_begin(struct end *end, const char *reason, int64_t grace_us, int64_t now, pid_t root, pid_t main_pid) {
	int error;
	end->reason = reason;
	end->clean_passes = 0;
	end->look_at = now;
	if (end->phase == END_IDLE && grace_us > 0) {
		end->phase = END_ASKING;
		end->kill_at = now + grace_us;
		end->pause = LOOK_FIRST_US;
		end->hup_at = now + grace_us / 2;
		end_signal_tree(root, main_pid, SIGTERM, &error);
		hang_up_the_deaf(root, main_pid);
		end_signal_tree(root, main_pid, SIGCONT, &error); // a stopped program gets no signal until it continues
	} else {
		start_killing(end, now);
	}
}

bool end_step(struct end *end, int64_t now, pid_t root, pid_t main_pid) {
	if (end->phase != END_ASKING && end->phase != END_KILLING) return false;
	if (end->phase == END_ASKING && now >= end->kill_at) start_killing(end, now);
	int error = 0;
	if (end->phase == END_ASKING && end->hup_at > 0 && now >= end->hup_at) {
		end->hup_at = 0;
		end_signal_tree(root, main_pid, SIGHUP, &error);
	}
	size_t living = 0;
	for (int round = 0; round < ROUNDS_MOST; round++) {
		living = end->phase == END_KILLING ? end_signal_tree(root, main_pid, SIGKILL, &error)
		                                   : tree_list(root, main_pid, members, MEMBERS_MOST);
		if (living > 0) end->clean_passes = 0;
		else if (++end->clean_passes >= 2) break;
		// Killing repeats at once only while it may be racing against new forks.
		if (living > 0 && (end->phase == END_ASKING || living < 8)) break;
	}
	bool gave_up = end->phase == END_KILLING && now >= end->give_up_at;
	if (end->clean_passes >= 2 || gave_up) {
		end->phase = END_OVER;
		end->survivors = living;
		return true;
	}
	if (end->phase == END_KILLING && now >= end->hang_up_at) end->hang_up = true;
	end->look_at = now + end->pause;
	end->pause = end->pause * 2 < LOOK_MOST_US ? end->pause * 2 : LOOK_MOST_US;
	int64_t turn = end->hup_at > 0 ? end->hup_at : end->kill_at;
	if (end->phase == END_ASKING && end->look_at > turn) end->look_at = turn;
	return false;
}
