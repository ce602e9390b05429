// Linux: each session (setsid) is a group of its own for the scheduler, and its weight is a nice value in
// /proc/PID/autogroup. Unlike a process's own nice value its user may also take it back, down to 0.
//
// Who is not root may set one such value every 100 ms, all users together: what is refused is tried again. Taking
// back is tried more often than giving way, because somebody may be waiting for it.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "holder.h"
#include "os.h"
#include "proc.h"

#define MEMBERS_MOST 1024
#define LOWER_AGAIN_US 1000000
#define RESTORE_AGAIN_US 20000

// What the owner wants, as long as it is there. One that connects again may have two connections for a moment.
static int wanted(const struct holder *holder) {
	int least = SHARE_NICE_MOST + 1;
	for (int i = 0; i < holder->client_places; i++) {
		const struct client *client = &holder->clients[i];
		if (client->fd >= 0 && client->owner && client->nice < least) least = client->nice;
	}
	bool ending = holder->end.phase != END_IDLE; // it has a grace to end in
	return ending || least > SHARE_NICE_MOST ? 0 : least;
}

static bool group_of(pid_t pid, unsigned long *id, int *nice) {
	char text[64];
	return proc_text(pid, "autogroup", text, sizeof text) > 0 && sscanf(text, "/autogroup-%lu nice %d", id, nice) == 2;
}

// 0 or an errno.
static int set_nice(pid_t pid, int nice) {
	char text[64];
	snprintf(text, sizeof text, "/proc/%d/autogroup", (int)pid);
	int fd = open(text, O_WRONLY | O_CLOEXEC);
	if (fd < 0) return errno;
	int length = snprintf(text, sizeof text, "%d", nice), error = write(fd, text, (size_t)length) < 0 ? errno : 0;
	close(fd);
	return error;
}

// False: to be tried again.
static bool apply(struct share *share, pid_t pid) {
	unsigned long id;
	int nice, known = 0;
	if (!group_of(pid, &id, &nice)) return true;
	while (known < share->count && share->groups[known].id != id) known++;
	bool ours = known < share->count && share->groups[known].now == nice; // otherwise its user has set another
	int before = ours ? share->groups[known].before : nice;
	int to = share->nice != 0 && share->nice > before ? share->nice : before;
	if (to == nice || known == SHARE_GROUPS) return true;
	if (before < 0 && geteuid() != 0) return true; // it could not be given back
	int error = set_nice(pid, to);
	if (error != 0) return error != EAGAIN;
	share->groups[known].id = id, share->groups[known].before = before, share->groups[known].now = to;
	if (known == share->count) share->count++;
	return true;
}

void share_step(struct holder *holder, int64_t now) {
	static struct member members[MEMBERS_MOST];
	struct share *share = &holder->share;
	int nice = wanted(holder);
	if (nice != share->nice) share->nice = nice, share->at = now;
	if (share->at == 0 || now < share->at) return;
	bool complete, done = true;
	size_t count = tree_list(holder->self, holder->main_exited ? 0 : holder->main_pid, members, MEMBERS_MOST, &complete);
	for (size_t i = 0; i < count && done; i++) done = apply(share, members[i].pid);
	if (done && nice == 0) share->count = 0;
	// Many who give way do not try at once.
	share->at = done ? 0 : now + (nice == 0 ? RESTORE_AGAIN_US : LOWER_AGAIN_US + holder->self % 100 * 1000);
}

int64_t share_next(const struct holder *holder) { return holder->share.at; }
