// Work that a file system or another process can hold up, without holding up the loop.
//
// The loop's thread does such work itself: handing it over costs two wake-ups for each
// keystroke. A second thread stands by. When the work takes too long, that thread
// takes over the loop; the first finishes its work, wakes the loop for the result,
// and stands by in its turn. So at any time one thread runs the loop.
#ifndef DIALTONE_TAKEOVER_H
#define DIALTONE_TAKEOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum work_state { WORK_NONE, WORK_RUNNING, WORK_DONE };

// One kind of work, of which one piece is done at a time. What `run` uses is its own while it runs.
struct work {
	void (*run)(void *context);
	void *context;
	_Atomic int state; // enum work_state. The loop finds it running only when another thread does it
	int64_t began;     // µs, monotonic
	bool slow;         // the last piece was: the next is done beside the loop from the start
};

// Runs `loop` in this thread, and in others as they take over; `wake` makes it look at its work. `loop` returns only
// when work_do() was false. Never returns.
_Noreturn void takeover_run(void (*loop)(void), void (*wake)(void));

// True: done. False: another thread runs the loop now, so the caller returns from it and touches nothing.
// Only where the loop's state is complete: the rest of this turn of the loop is not done in that case.
bool work_do(struct work *work);

#endif
