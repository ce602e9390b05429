// Whose turn is it, where the kernel does not say what a process waits for
// (macOS, the BSDs): the foreground group, the terminal's modes, unread input.
// See attention.h.

#ifndef __linux__

#include "attention.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct attention {
	pid_t main_pid;
	int master;
	char pts[128];
	struct seen {
		pid_t group;
		bool lives, main_foreground, canonical, echo, signals;
		int unread;
	} seen;
};

struct attention *attention_open(pid_t root, pid_t main_pid, int master, const char *pts)
{
	static struct attention only;
	(void)root;
	only.main_pid = main_pid;
	only.master = master;
	snprintf(only.pts, sizeof only.pts, "%s", pts);
	return &only;
}

bool attention_look(struct attention *a)
{
	struct seen seen;
	struct termios modes;
	memset(&seen, 0, sizeof seen);
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
	// Open only for a moment: as long as we hold it the master would not tell that the last program has gone.
	int slave = open(a->pts, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (slave >= 0) {
		if (ioctl(slave, FIONREAD, &seen.unread) != 0)
			seen.unread = -1;
		close(slave);
	}
	bool changed = memcmp(&seen, &a->seen, sizeof seen) != 0;
	a->seen = seen;
	return changed;
}

void attention_wrote(struct attention *a, const void *bytes, size_t length)
{
	(void)a, (void)bytes, (void)length;
}

size_t attention_tell(const struct attention *a, char *out, size_t size)
{
	const struct seen *seen = &a->seen;
	char unread[16] = "null";
	if (seen->unread >= 0)
		snprintf(unread, sizeof unread, "%d", seen->unread);
	int length = snprintf(out, size,
	                      "\"readable\":false,\"foregroundGroup\":%d,\"foregroundLives\":%s,\"mainForeground\":%s,"
	                      "\"canonical\":%s,\"echo\":%s,\"signals\":%s,\"unread\":%s,\"threads\":[],\"more\":0",
	                      (int)seen->group, seen->lives ? "true" : "false", seen->main_foreground ? "true" : "false",
	                      seen->canonical ? "true" : "false", seen->echo ? "true" : "false",
	                      seen->signals ? "true" : "false", unread);
	return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

#endif
