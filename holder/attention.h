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
#include <stdint.h>
#include <sys/types.h>

struct attention;

// Who has taken what was typed: the process, and how many times it has called read so far.
struct take {
	pid_t reader;
	uint64_t reads;
};
enum taking { TAKING_NOT, TAKING_DONE, TAKING_UNSEEN };

// `root` is the ancestor of everything in the session: the holder itself. `confined`: the main process is that of a sandbox.
// One for a process; never freed. Keeps `pts`.
struct attention *attention_open(pid_t root, pid_t main_pid, bool confined, int master, const char *pts);

// The last probe still holds: no thread has run since. 6 µs, and nothing that another process or a file system can hold up.
bool attention_stands(struct attention *attention);

// One probe. True when something that could change a verdict is different from the previous one.
// The caller drains the master to EAGAIN after it: once a thread sleeps in its read, everything
// it wrote before is there.
bool attention_look(struct attention *attention);

// The probes that follow count how many times who takes the input has called read.
void attention_count_reads(struct attention *attention, bool on);

// By the last probe every thread sleeps and has taken all input: by itself it will not change within a moment.
bool attention_rests(const struct attention *attention);

// A process of the last probe is running at this moment, or has not woken up for what was written since. A microsecond.
bool attention_runs(const struct attention *attention);

// By the last probe a thread sleeps in a read of the terminal again and nothing is left to read; or whether it does cannot be seen.
enum taking attention_takes(const struct attention *attention, struct take *take);

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
