// Attention, the holder's half: kernel facts.
//
// A probe reads the foreground processes of this terminal and what each thread is
// blocked in. It is evidence for src/session/attention.ts, which decides. The
// holder is an ancestor of all of them and a subreaper, so even a kernel with
// Yama permits it, and no process can leave the tree.

#ifndef DIALTONE_ATTENTION_H
#define DIALTONE_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct attention;

// `root` is the ancestor of everything in the session: the holder itself. One for a process; never freed. Keeps `pts`.
struct attention *attention_open(pid_t root, pid_t main_pid, int master, const char *pts);

// One probe. True when something that could change a verdict is different from the previous one.
// The caller drains the master to EAGAIN after it: once a thread sleeps in its read, everything
// it wrote before is there. 6 µs when no thread has run since.
bool attention_look(struct attention *attention);

// By the last probe the program is certainly working: no thread reads the terminal or is stopped, and all are visible.
bool attention_works(const struct attention *attention);

// The facts of the last probe, as members of a JSON object without the braces; the length, always below `size`.
size_t attention_tell(const struct attention *attention, char *out, size_t size);

// To be called right before bytes are written to the master: who reads at this moment still sleeps in an old read
// when the write returns (input travels through a kernel worker), and does not count until it has run again.
void attention_wrote(struct attention *attention, const void *bytes, size_t length);

// After a signal: a woken thread may not have run yet, so the next probe must not reuse the last one.
void attention_signalled(struct attention *attention);

// Bytes were written or a signal was sent while a probe was under way, without the two calls above: what it saw may be
// older. Until the next write, a reader counts only when nothing is left to read.
void attention_missed(struct attention *attention);

#endif
