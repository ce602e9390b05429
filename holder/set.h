// The descriptors that one thread waits for, put together from its memory or from fdinfo.
//
// While a thread is blocked, user memory still holds the request it made: the
// poll set, the select bits, the timeout. An epoll set is in fdinfo. What cannot be read or
// does not fit is a doubt, never a shorter set.

#ifndef DIALTONE_SET_H
#define DIALTONE_SET_H

#include "blocked.h"

enum {
	MAX_POLLED = 65536, // descriptors of a set
	MAX_SELECT = 65536, // the highest descriptor of a select set
};

struct gathering {
	const struct process *process;
	const struct terminal *terminal;
	bool reads, writes; // the terminal is in the set, for input or for output
	unsigned seen;
	unsigned inside; // descriptors that only its process group can make ready
	bool narrow_time;
	struct opened *expected; // what the next descriptor is open on, where that is known
	struct blocked *out;
};

void set_add(struct gathering *g, int fd, bool reads, bool writes, unsigned depth);
void set_add_epoll(struct gathering *g, int epoll, unsigned depth);
void set_add_polled(struct gathering *g, uint64_t address, uint64_t count);
enum selected { SELECT_READS, SELECT_WRITES, SELECT_EXCEPTIONS };
void set_add_selected(struct gathering *g, uint64_t count, uint64_t address, enum selected set);
void set_add_ring(struct gathering *g);

// The shortest of its timeouts counts. `per_ms`: how many of the smaller unit at `address` are a millisecond.
void limit_timeout(struct blocked *out, long ms);
void timeout_from(struct gathering *g, uint64_t address, long per_ms);
bool read_span(const struct gathering *g, uint64_t address, long long *seconds, long long *rest);
long clamp_ms(long long ms);

#endif
