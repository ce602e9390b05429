// Whose turn is it? The holder's half of the answer: what the kernel says.
//
// A look reads the foreground processes of this terminal and what each thread is
// blocked in. It is evidence for src/session/attention.ts, which decides. The
// holder is an ancestor of all of them and a subreaper, so even a kernel with
// Yama lets it look, and nobody can leave the tree.

#ifndef DIALTONE_ATTENTION_H
#define DIALTONE_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct attention;

// `root` is the ancestor of everything in the session: the holder itself. One for a process; never freed. Keeps `pts`.
struct attention *attention_open(pid_t root, pid_t main_pid, int master, const char *pts);

// One look. True when something that could change a verdict is different from the look before.
// The caller drains the master to EAGAIN after it: once a thread sleeps in its read, everything
// it wrote before is there. 6 µs when nobody has run since.
bool attention_look(struct attention *attention);

// The last look leaves no doubt that it is nobody's turn: nobody reads the terminal, nobody is stopped, all can be seen.
bool attention_works(const struct attention *attention);

// What the last look saw, as members of a JSON object without the braces; the length, always below `size`.
size_t attention_tell(const struct attention *attention, char *out, size_t size);

// To be called right before bytes are written to the master: who reads at this moment still sleeps in an old read
// when the write returns (input travels through a kernel worker), and does not count until it has run again.
void attention_wrote(struct attention *attention, const void *bytes, size_t length);

// After a signal: whoever it woke may not have run yet, so the next look must not rest on the last one.
void attention_signalled(struct attention *attention);

#endif
