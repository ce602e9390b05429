// What a session may use as a whole: processor time, memory and processes. Measured at a bounded rate, and only
// while there is a limit; a session that uses more is ended, and its exit says why.
#ifndef DIALTONE_LIMITS_H
#define DIALTONE_LIMITS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "takeover.h"

struct limits {
	uint64_t cpu_us, memory, processes; // 0: none
	int64_t at;                         // when it is measured next, µs; 0: never
	struct work work;
	uint64_t cpu_used, memory_used; // the work's
};

struct holder;
// Whether the system tells what a session uses. Elsewhere each process is bounded by itself.
bool limits_are_measured(void);
void limits_begin(struct holder *holder, const struct block *block);
bool limits_any(const struct holder *holder);
// False: see work_do().
bool limits_step(struct holder *holder, int64_t now);
int64_t limits_next(const struct holder *holder); // when to be called next, or 0

// Where the kernel enforces them as well: what the loop waits for, and what it then asks; and at the holder's end.
#define LIMITS_FDS 2
void limits_poll(struct pollfd fds[LIMITS_FDS]);
void limits_told(struct holder *holder, int64_t now);
void limits_leave(void);

#endif
