// What the terminal itself shows, without a look at any process: all there is where the kernel does not show more.
#ifndef DIALTONE_TERMINAL_FACTS_H
#define DIALTONE_TERMINAL_FACTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "text.h"

struct terminal_facts {
	pid_t group;
	bool lives, main_foreground, canonical, echo, signals;
	int unread; // -1: not known
};

// Every byte is set, so that two can be compared whole.
struct terminal_facts terminal_facts_read(int master, const char *pts, pid_t main_pid);
// As members of the facts' JSON, without braces.
void terminal_facts_tell(const struct terminal_facts *seen, struct text *text);

#endif
