// The one line a launcher prints: it runs, or at which stage and why not.
#ifndef DIALTONE_REPORT_H
#define DIALTONE_REPORT_H

#include "spawn.h"
#include "text.h"

void report_failure(struct text *text, const struct failure *failure);
void report_success(struct text *text, pid_t holder, pid_t main_pid, const char *pts);

#endif
