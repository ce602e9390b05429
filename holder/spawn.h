// Starts the program on its terminal, or reports at which stage and why it failed.
#ifndef DIALTONE_SPAWN_H
#define DIALTONE_SPAWN_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "block.h"
#include "os.h"

struct failure {
	const char *stage;
	int error;
	const char *message; // NULL: strerror(errno)
};

struct terminal {
	int master;
	int slave; // closed once the program has it
	char pts[64];
	dev_t rdev;
};

// What the program gets, unless the block says otherwise, although the holder changed it for itself.
struct inheritance {
	mode_t umask;
	char oom[OOM_TEXT]; // for /proc/self/oom_score_adj; empty: as it is
	struct rlimit limits[BLOCK_RLIMITS];
};

// Saves what a program would inherit, and lifts what would hinder or end the holder.
struct inheritance inheritance_take(void);

bool terminal_open(struct terminal *terminal, const struct block *block, struct failure *failure);
void terminal_close(struct terminal *terminal);
// The program's pid, once exec has succeeded; 0 on failure, with no process left.
pid_t spawn(const struct block *block, struct terminal *terminal, const struct inheritance *inheritance, struct failure *failure);

// The launcher's end of this pipe: a byte means that it keeps the session, and end of file without one that it gave up.
// What was given up is not executed; what is being executed then is killed before its first instruction.
#define LAUNCHER 4
bool launcher_keeps_it(void); // waits for its word

#endif
