// Which lines of one write go out together, and when the next may. Pure.
//
// Who reads next is known only when a line has been taken: the shell that was given `cat > f` reads keys, cat reads
// lines, and the same bytes mean other things to them. So a write goes out as a person types it: line by line, the next
// one when the program has read the last and sleeps in a read again. Two kinds of readers are let off once they are known:
// where the kernel keeps lines apart, and where the reader takes whatever is there in one piece.
#ifndef DIALTONE_PACE_H
#define DIALTONE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "attention.h"

struct pace {
	size_t left;    // of the lines that go out now: the first bytes of the queue; 0: not measured
	bool canonical; // … by these modes
	bool paused;    // they are out; the rest waits until they have been taken
	size_t bytes;   // how many they were
	size_t lines;   // how many may go out together, less one
	unsigned alike; // how many in a row were taken in the same way
	struct take last;
	tcflag_t input_modes, local_modes; // … and the modes at that time
};

// A new write, with nothing before it that is still to be typed.
void pace_begin(struct pace *pace);
// How much of what is queued belongs to the lines that may go out now.
size_t pace_next(struct pace *pace, const unsigned char *queued, size_t count, const struct termios *modes);
void pace_written(struct pace *pace, size_t count, bool more);
// The program has taken them.
void pace_taken(struct pace *pace, const struct take *take, const struct termios *modes);

#endif
