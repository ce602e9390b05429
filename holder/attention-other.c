// Attention where the kernel does not show what a process waits for
// (macOS, the BSDs): the foreground group, the terminal's modes, unread input.
// See attention.h.

#include <string.h>

#include "attention.h"
#include "terminal-facts.h"
#include "text.h"

struct attention {
	pid_t main_pid;
	int master;
	const char *pts;
	struct terminal_facts seen;
};

struct attention *attention_open(pid_t root, pid_t main_pid, bool confined, int master, const char *pts) {
	static struct attention only;
	(void)root, (void)confined;
	only.main_pid = main_pid;
	only.master = master;
	only.pts = pts;
	return &only;
}

bool attention_stands(struct attention *a) {
	(void)a;
	return false;
}

bool attention_look(struct attention *a) {
	struct terminal_facts seen = terminal_facts_read(a->master, a->pts, a->main_pid);
	bool changed = memcmp(&seen, &a->seen, sizeof seen) != 0;
	memcpy(&a->seen, &seen, sizeof seen);
	return changed;
}

void attention_count_reads(struct attention *a, bool on) {
	(void)a, (void)on;
}

bool attention_rests(const struct attention *a) {
	(void)a;
	return false;
}

enum taking attention_takes(const struct attention *a, struct take *take) {
	(void)take;
	return a->seen.unread > 0 ? TAKING_NOT : TAKING_UNSEEN;
}

bool attention_runs(const struct attention *a) {
	(void)a;
	return false;
}

bool attention_works(const struct attention *a) {
	(void)a;
	return false;
}

void attention_wrote(struct attention *a, const void *bytes, size_t length) {
	(void)a, (void)bytes, (void)length;
}

void attention_signalled(struct attention *a) {
	(void)a;
}

void attention_missed(struct attention *a) {
	(void)a;
}

size_t attention_tell(const struct attention *a, char *out, size_t size) {
	struct text text = text_in(out, size);
	terminal_facts_tell(&a->seen, &text);
	return text.used;
}
