// How fast a program's output is read: what is beyond the limit stays in the terminal, and the program waits for it, as
// it would for a slow printer. Pure.
#ifndef DIALTONE_RATE_H
#define DIALTONE_RATE_H

#include <stddef.h>
#include <stdint.h>

struct rate {
	uint64_t per_second; // bytes; 0: no limit
	int64_t at;          // what was read so far is paid for at that time, µs; a burst may be ahead of it
};

void rate_begin(struct rate *rate, uint64_t per_second, int64_t now);
void rate_took(struct rate *rate, size_t bytes, int64_t now);
// How much may be read now, up to `most`.
size_t rate_room(const struct rate *rate, size_t most, int64_t now);
// When something may be read, µs; 0: now.
int64_t rate_next(const struct rate *rate, int64_t now);

#endif
