// What is typed: one bounded queue to the terminal, each byte once, no line cut.
//
// The kernel keeps 4095 unread bytes, and in canonical mode drops what a line has beyond
// them, without a word. What is written beyond that waits inside the kernel, to be
// interpreted in whatever mode there is by then: a program that goes back to lines
// would lose it. So no more than those 4095 are ever on their way (in flight).
#ifndef DIALTONE_INPUT_H
#define DIALTONE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "pace.h"

#define INPUT_QUEUE ((size_t)1 << 20)
#define INPUT_IDS 1024
#define WRITE_ID 16
#define LINE_MOST ((size_t)4095)       // of one line, and in flight; a line's end may be one more
#define INPUT_FLIGHT (LINE_MOST + 1)

struct input {
	size_t start, head, tail; // in flight: [start, head); queued: [head, tail)
	size_t line_start;        // what is in flight before this is no part of an unfinished line
	uint64_t accepted;        // the input offset
	size_t last;              // bytes of the unfinished line at the end of the queue, as measured with the modes below
	bool last_known;
	struct termios last_modes;
	size_t urgent;                     // the first so many that are queued came with priority
	uint64_t write_start, write_end;   // the write that found the queue empty, as input offsets
	struct pace pace;
	bool held; // waiting for the terminal to leave canonical mode: the next line is too long for it
	size_t seen_count, seen_next;
	// Large and last: an idle holder touches none of their pages.
	struct {
		uint8_t id[WRITE_ID];
		uint64_t value;
	} seen[INPUT_IDS];
	uint8_t queue[INPUT_FLIGHT + INPUT_QUEUE];
};

enum input_answer { INPUT_TAKEN, INPUT_REPEATED, INPUT_FULL, INPUT_LINE_TOO_LONG, INPUT_AFTER_GAP, INPUT_SEEN };

struct input_write {
	uint64_t offset; // NO_OFFSET: append
	const uint8_t *id;
	const uint8_t *bytes;
	size_t count;
	bool priority;
	bool hidden; // a secret: at once and while nothing is echoed, or not at all (INPUT_SEEN)
};

// `modes` are the terminal's now. On INPUT_TAKEN and INPUT_REPEATED `*value` is the input offset after the write.
enum input_answer input_accept(struct input *input, const struct input_write *write, const struct termios *modes, uint64_t *value);

size_t input_queued(const struct input *input);
// So much is queued and in flight, with `more` to come, that it matters what the program has read of it.
bool input_is_tight(const struct input *input, size_t more);
// What was written has arrived, and these are the modes now: if they are raw it is no part of an unfinished line.
void input_settled(struct input *input, const struct termios *modes);
// Of what is in flight the program has read all but `unread` bytes; an unfinished line is not counted among them.
void input_read(struct input *input, const struct termios *modes, size_t unread);
// The next bytes that may be written to the terminal now; 0 if none may.
size_t input_next(struct input *input, const struct termios *modes, const uint8_t **bytes);
void input_written(struct input *input, size_t count);
// The lines before have been taken; or it was waited long enough for that (NULL).
void input_taken(struct input *input, const struct take *take, const struct termios *modes);
// Who reads lines waits for the next one, which is too long, while those before it in the same write were typed. The rest
// of that write is dropped, and its length returned; `*typed` is how much was typed and `*line` the length of that line. 0: it is not so.
size_t input_refuse(struct input *input, const struct termios *modes, uint64_t *typed, size_t *line);
// Forgets what is queued, and if the terminal was `flushed` what is in flight; how many bytes were queued.
size_t input_drop(struct input *input, bool flushed);

#endif
