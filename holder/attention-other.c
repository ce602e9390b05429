// Attention where the kernel does not show what a process waits for
// (macOS, the BSDs): the foreground group, the terminal's modes, unread input.
// See attention.h.

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "attention.h"
#include "os.h"
#include "text.h"

struct attention {
	pid_t main_pid;
	int master;
	const char *pts;
	struct seen {
		pid_t group;
		bool lives, main_foreground, canonical, echo, signals;
		int unread; // -1: not known
	} seen;
};

struct attention *attention_open(pid_t root, pid_t main_pid, int master, const char *pts) {
	static struct attention only;
	(void)root;
	only.main_pid = main_pid;
	only.master = master;
	only.pts = pts;
	return &only;
}

bool attention_look(struct attention *a) {
	struct seen seen;
	struct termios modes;
	memset(&seen, 0, sizeof seen); // compared whole
	seen.group = tcgetpgrp(a->master);
	if (seen.group < 0)
		seen.group = 0;
	seen.lives = seen.group > 0 && (kill(-seen.group, 0) == 0 || errno == EPERM);
	seen.main_foreground = seen.group > 0 && getpgid(a->main_pid) == seen.group;
	if (tcgetattr(a->master, &modes) == 0) {
		seen.canonical = (modes.c_lflag & ICANON) != 0;
		seen.echo = (modes.c_lflag & ECHO) != 0;
		seen.signals = (modes.c_lflag & ISIG) != 0;
	}
	seen.unread = -1;
	// Open only for a moment: while we hold it the master would not report that the last program is gone.
	int slave = os_open_slave(a->master, a->pts, true);
	if (slave >= 0) {
		if (ioctl(slave, FIONREAD, &seen.unread) != 0)
			seen.unread = -1;
		close(slave);
	}
	bool changed = memcmp(&seen, &a->seen, sizeof seen) != 0;
	a->seen = seen;
	return changed;
}

bool attention_works(const struct attention *a) {
	(void)a;
	return false;
}

void attention_wrote(struct attention *a, const void *bytes, size_t length) {
	(void)a, (void)bytes, (void)length;
}

void attention_signalled(struct attention *a) {
	(void)a;
}

size_t attention_tell(const struct attention *a, char *out, size_t size) {
	const struct seen *seen = &a->seen;
	struct text text = text_in(out, size);
	text_add(&text, "\"readable\":false,\"foregroundGroup\":%d,\"foregroundLives\":%s,\"mainForeground\":%s,", (int)seen->group,
	         seen->lives ? "true" : "false", seen->main_foreground ? "true" : "false");
	text_add(&text, "\"canonical\":%s,\"echo\":%s,\"signals\":%s,\"unread\":", seen->canonical ? "true" : "false",
	         seen->echo ? "true" : "false", seen->signals ? "true" : "false");
	if (seen->unread >= 0)
		text_add(&text, "%d", seen->unread);
	else
		text_add(&text, "null");
	text_add(&text, ",\"threads\":[],\"more\":0,\"doubts\":[]");
	return text.used;
}
