// What is typed: one bounded queue to the terminal, each byte once, no line cut.
#ifndef DIALTONE_INPUT_H
#define DIALTONE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#define INPUT_QUEUE ((size_t)1 << 20)
#define INPUT_IDS 1024
#define WRITE_ID 16
#define LINE_MOST 4095 // what Linux keeps of one line in canonical mode; it drops the rest without a word

struct input {
	size_t head, tail;
	uint64_t accepted; // the input offset
	size_t line;       // bytes of an unfinished line that the terminal holds already, in canonical mode
	size_t last;       // bytes of the unfinished line at the end of the queue, as measured with the modes below
	bool last_known;
	struct termios last_modes;
	bool held; // waiting for the terminal to leave canonical mode: the next line is too long for it
	size_t seen_count, seen_next;
	// Large and last: an idle holder touches none of their pages.
	struct {
		uint8_t id[WRITE_ID];
		uint64_t value;
	} seen[INPUT_IDS];
	uint8_t queue[INPUT_QUEUE]; // [head, tail)
};

enum input_answer { INPUT_TAKEN, INPUT_REPEATED, INPUT_FULL, INPUT_LINE_TOO_LONG, INPUT_AFTER_GAP };

struct input_write {
	uint64_t offset; // NO_OFFSET: append
	const uint8_t *id;
	const uint8_t *bytes;
	size_t count;
	bool priority;
};

// `modes` are the terminal's now. On INPUT_TAKEN and INPUT_REPEATED `*value` is the input offset after the write.
enum input_answer input_accept(struct input *input, const struct input_write *write, const struct termios *modes, uint64_t *value);

size_t input_queued(const struct input *input);
// The next bytes that may be written to the terminal now; 0 if none may.
size_t input_next(struct input *input, const struct termios *modes, const uint8_t **bytes);
void input_written(struct input *input, const struct termios *modes, size_t count);
// Forgets what is queued; how many bytes.
size_t input_drop(struct input *input);

#endif
