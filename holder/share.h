// How much of the processor the session's programs get beside others: less while their owner says so.
#ifndef DIALTONE_SHARE_H
#define DIALTONE_SHARE_H

#include <stdint.h>
#include <sys/types.h>

#define SHARE_NICE_MOST 19
#define SHARE_GROUPS 32

struct share {
	int nice;        // what is to be; 0: what it was
	int64_t at;      // when that is to be tried, µs; 0: it is so
	struct {
		unsigned long id;
		int before, now; // nice values: as it was, and as it was set
	} groups[SHARE_GROUPS];
	int count;
};

struct holder;
void share_step(struct holder *holder, int64_t now);
int64_t share_next(const struct holder *holder); // when to be called next, or 0

#endif
