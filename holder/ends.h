// Which processes of the session hold the other end of a pipe, an event counter
// or a socket: only its owner, its process group, or anybody else.

#ifndef DIALTONE_ENDS_H
#define DIALTONE_ENDS_H

#include "proc.h"

enum end_kind { END_PIPE, END_EVENTS, END_SOCKET };

enum reach {
	REACH_OWN,   // no other process can make it ready
	REACH_GROUP, // only processes of the same group
	REACH_WIDER, // others, or that is not known
};

// A new look: what was read before is forgotten. The descriptors are read when they are first asked for.
void ends_begin(const struct process *processes, const unsigned *count);

// The number of a pipe or socket, from its link such as pipe:[1234]; false when it is another kind.
bool end_number(const char *link, const char *kind, uint64_t *out);

// The number of an event counter (eventfd).
bool event_number(pid_t pid, int fd, uint64_t *out);

// Who can make this ready: who holds a descriptor of that kind and number that writes (or, with `readers`, reads).
enum reach ends_reach(const struct process *asking, enum end_kind kind, uint64_t number, bool readers);

// The other side of a pipe is held by processes of the session, of which none is in the same group. Also where not all could
// be read.
bool ends_lead_away(const struct process *asking, uint64_t pipe, bool readers);

#endif
