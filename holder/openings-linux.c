// Who could take input without waiting for it. See probe.h.
//
// Read only when nobody in the foreground waits for the terminal: then the question is whether somebody looks at the
// keyboard now and then, or is signalled.

#include "probe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

// One that looks at the keyboard on a timer's signal does so more often than this.
enum { PEEKS_EVERY_MS = 1000 };

struct openings {
	const struct process *process;
	const struct place *place;
	bool nonblocking, peeks;
};

static void match_opening(void *context, pid_t pid, int fd) {
	struct openings *openings = context;
	const struct place *place = openings->place;
	struct opened file;
	char text[512];
	proc_descriptor_link(pid, fd, text, sizeof text);
	if (strstr(text, "[io_uring]") != NULL)
		openings->peeks = true;
	if (text[0] != '/' || !proc_descriptor(pid, fd, &file) || !is_terminal(openings->process, &file, &place->terminal) ||
	    !proc_descriptor_reads(pid, fd))
		return;
	proc_descriptor_info(pid, fd, text, sizeof text);
	char *line = strstr(text, "flags:");
	unsigned long flags = line == NULL ? O_NONBLOCK : strtoul(line + 6, NULL, 8);
	openings->nonblocking |= (flags & O_NONBLOCK) != 0 || (!place->canonical && place->least == 0 && place->tenths == 0);
	openings->peeks |= (flags & O_ASYNC) != 0;
}

static bool has_rested(struct attention *a, const struct process *process) {
	for (unsigned i = 0; i < MAX_REPORTED; i++) {
		struct rest *rest = &a->rests[i];
		if (rest->pid != process->pid)
			continue;
		if (rest->ran == process->ran)
			return a->walked_ms - rest->since_ms >= PEEKS_EVERY_MS;
		*rest = (struct rest){process->pid, process->ran, a->walked_ms};
		return false;
	}
	a->rests[a->next_rest++ % MAX_REPORTED] = (struct rest){process->pid, process->ran, a->walked_ms};
	return false;
}

void look_for_openings(struct attention *a, struct thread *thread, const struct process *process) {
	struct openings openings = {process, &a->places[0], false, false};
	uint64_t caught;
	if (!proc_descriptors(process->pid, match_opening, &openings) || !proc_caught(process->pid, &caught)) {
		a->doubts |= DOUBT_LIST;
		return;
	}
	thread->nonblocking = openings.nonblocking;
	// Which timers a process has is not readable; that it has run is.
	thread->peeks |= openings.nonblocking || openings.peeks || (signals_wake(caught) && !has_rested(a, process));
}
