// Ending the whole tree: TERM, then KILL, then a report of the survivors.
#ifndef DIALTONE_END_H
#define DIALTONE_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tree.h"

#define SURVIVORS_REPORTED 32

enum end_phase { END_IDLE, END_ASKING, END_KILLING, END_OVER };

struct end {
	enum end_phase phase;
	const char *reason; // of the exit: "exit" until a client ended it
	int64_t kill_at, hang_up_at, give_up_at, look_at;
	int64_t hup_at;  // next to those who ignore TERM, if no other needs the grace
	int64_t pause;
	int clean_passes;
	bool asked;      // TERM was sent; by the first step, before which the programs have got their share of the processor back
	bool leader_due; // the main program is stopped, and gets TERM when no other needs the grace
	bool hang_up;    // the holder should close the terminal: the last thing that may help
	size_t survivors; // at least
};

void end_begin(struct end *end, const char *reason, int64_t grace_us, int64_t now);
// Continues ending; true when it has just finished. To be called when a child died, and when `look_at` is reached.
bool end_step(struct end *end, int64_t now, pid_t root, pid_t main_pid);

// A signal to every living descendant; how many there were. `*error` is the last refusal, or 0.
size_t end_signal_tree(pid_t root, pid_t main_pid, int signal, int *error);
// Who is alive, for the record; `*complete` as in tree_list().
size_t end_who(pid_t root, pid_t main_pid, struct member members[SURVIVORS_REPORTED], bool *complete);

#endif
