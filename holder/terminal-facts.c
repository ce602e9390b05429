#include "terminal-facts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "os.h"

struct terminal_facts terminal_facts_read(int master, const char *pts, pid_t main_pid) {
	struct terminal_facts seen;
	struct termios modes;
	memset(&seen, 0, sizeof seen);
	seen.group = tcgetpgrp(master);
	if (seen.group < 0) seen.group = 0;
	seen.lives = seen.group > 0 && (kill(-seen.group, 0) == 0 || errno == EPERM);
	seen.main_foreground = seen.group > 0 && getpgid(main_pid) == seen.group;
	if (tcgetattr(master, &modes) == 0) {
		seen.canonical = (modes.c_lflag & ICANON) != 0;
		seen.echo = (modes.c_lflag & ECHO) != 0;
		seen.signals = (modes.c_lflag & ISIG) != 0;
	}
	seen.unread = -1;
	// Open only for a moment: while we hold it the master would not report that the last program is gone.
	int slave = os_open_slave(master, pts, true);
	if (slave >= 0) {
		if (ioctl(slave, FIONREAD, &seen.unread) != 0) seen.unread = -1;
		close(slave);
	}
	return seen;
}

void terminal_facts_tell(const struct terminal_facts *seen, struct text *text) {
	text_add(text, "\"readable\":false,\"foregroundGroup\":%d,\"foregroundLives\":%s,\"mainForeground\":%s,", (int)seen->group,
	         seen->lives ? "true" : "false", seen->main_foreground ? "true" : "false");
	text_add(text, "\"canonical\":%s,\"echo\":%s,\"signals\":%s,\"unread\":", seen->canonical ? "true" : "false",
	         seen->echo ? "true" : "false", seen->signals ? "true" : "false");
	if (seen->unread >= 0) text_add(text, "%d", seen->unread);
	else text_add(text, "null");
	text_add(text, ",\"threads\":[],\"more\":0,\"doubts\":[]");
}
