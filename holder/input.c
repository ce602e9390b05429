// The queue of what is typed. Pure: bytes and terminal modes come in, bytes to
// write come out; the descriptor is loop.c's.
#include "input.h"

#include <string.h>
#include <unistd.h>

#include "frame.h"

// Does this byte finish a line, as the terminal is set now? What it erases is not counted back: too strict by a few bytes.
static bool ends_line(uint8_t byte, const struct termios *modes) {
	if (byte == '\r' && !(modes->c_iflag & IGNCR)) return (modes->c_iflag & ICRNL) != 0;
	if (byte == '\n') return !(modes->c_iflag & INLCR);
	static const int ends[] = {VEOF, VEOL, VEOL2, VKILL};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (modes->c_cc[ends[i]] != _POSIX_VDISABLE && byte == modes->c_cc[ends[i]]) return true;
	static const int signals[] = {VINTR, VQUIT, VSUSP};
	if ((modes->c_lflag & ISIG) && !(modes->c_lflag & NOFLSH))
		for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
			if (modes->c_cc[signals[i]] != _POSIX_VDISABLE && byte == modes->c_cc[signals[i]]) return true;
	return false;
}

// The byte after this one is taken as it is (Ctrl+V), so it finishes no line.
static bool is_quote(uint8_t byte, const struct termios *modes) {
	return (modes->c_lflag & IEXTEN) && modes->c_cc[VLNEXT] != _POSIX_VDISABLE && byte == modes->c_cc[VLNEXT];
}

// The length of the unfinished line after these bytes; `*longest` grows to the longest line on the way.
static size_t measure(size_t line, const uint8_t *bytes, size_t count, const struct termios *modes, size_t *longest) {
	for (size_t i = 0; i < count; i++) {
		bool literal = i > 0 && is_quote(bytes[i - 1], modes); // two of them: too long rather than too short
		line = !literal && ends_line(bytes[i], modes) ? 0 : line + 1;
		if (line > *longest) *longest = line;
	}
	return line;
}

static size_t in_flight(const struct input *input) { return input->head - input->start; }

// The unfinished line that the terminal holds, in canonical mode. Too long rather than too short.
static size_t unfinished(const struct input *input, const struct termios *modes) {
	size_t from = input->line_start > input->start ? input->line_start : input->start, ignored = 0;
	return modes->c_lflag & ICANON ? measure(0, input->queue + from, input->head - from, modes, &ignored) : 0;
}

// The unfinished line that an appended byte would lengthen. Remembered, or 20,000 short lines would be measured 20,000 times.
static size_t last_line(struct input *input, const struct termios *modes) {
	const struct termios *then = &input->last_modes;
	bool same = input->last_known && then->c_iflag == modes->c_iflag && then->c_lflag == modes->c_lflag &&
	            memcmp(then->c_cc, modes->c_cc, sizeof then->c_cc) == 0;
	if (!same) {
		size_t ignored = 0; // what is queued was checked when it came
		input->last = measure(unfinished(input, modes), input->queue + input->head, input_queued(input), modes, &ignored);
		input->last_modes = *modes, input->last_known = true;
	}
	return input->last;
}

static bool no_id(const uint8_t *id) {
	for (int i = 0; i < WRITE_ID; i++)
		if (id[i] != 0) return false;
	return true;
}

static void remember(struct input *input, const uint8_t *id, uint64_t value) {
	if (no_id(id)) return;
	memcpy(input->seen[input->seen_next].id, id, WRITE_ID);
	input->seen[input->seen_next].value = value;
	input->seen_next = (input->seen_next + 1) % INPUT_IDS;
	if (input->seen_count < INPUT_IDS) input->seen_count++;
}

static bool seen_before(const struct input *input, const uint8_t *id, uint64_t *value) {
	if (no_id(id)) return false;
	for (size_t i = 0; i < input->seen_count; i++) {
		if (memcmp(input->seen[i].id, id, WRITE_ID) != 0) continue;
		*value = input->seen[i].value;
		return true;
	}
	return false;
}

// Moves everything to the beginning: for room at the end, and early, to touch no more memory than is needed.
static void compact(struct input *input) {
	memmove(input->queue, input->queue + input->start, input->tail - input->start);
	input->line_start = input->line_start > input->start ? input->line_start - input->start : 0;
	input->head -= input->start, input->tail -= input->start, input->start = 0;
}

static void enqueue(struct input *input, const uint8_t *bytes, size_t count, bool in_front) {
	size_t queued = input_queued(input);
	if (sizeof input->queue - input->tail < count || (queued == 0 && input->tail > INPUT_FLIGHT)) compact(input);
	uint8_t *at = input->queue + (in_front ? input->head : input->tail);
	if (in_front) memmove(at + count, at, queued);
	memcpy(at, bytes, count);
	input->tail += count;
}

enum input_answer input_accept(struct input *input, const struct input_write *write, const struct termios *modes, uint64_t *value) {
	const uint8_t *bytes = write->bytes;
	size_t count = write->count;
	if (seen_before(input, write->id, value)) return INPUT_REPEATED;
	if (write->offset != NO_OFFSET) {
		if (write->offset > input->accepted) return INPUT_AFTER_GAP;
		uint64_t known = input->accepted - write->offset;
		if (known >= count) {
			*value = write->offset + count;
			return INPUT_REPEATED;
		}
		bytes += known, count -= (size_t)known;
	}
	size_t queued = input_queued(input);
	if (count > INPUT_QUEUE - queued) return INPUT_FULL;
	if (write->hidden && ((modes->c_lflag & ECHO) || queued > 0)) return INPUT_SEEN;
	bool measured = (modes->c_lflag & ICANON) && input_is_tight(input, count);
	if (measured) {
		size_t longest = 0, before = 0, line = write->priority ? unfinished(input, modes) : last_line(input, modes);
		// In front of the queue it lengthens the first queued line instead of the last; one that is held is too long anyway.
		if (write->priority) measure(line, input->queue + input->head, queued, modes, &before);
		line = measure(line, bytes, count, modes, &longest);
		if (write->priority && before <= LINE_MOST) measure(line, input->queue + input->head, queued, modes, &longest);
		if (longest > LINE_MOST) return INPUT_LINE_TOO_LONG;
		input->last = line;
	}
	if (write->priority || !measured) input->last_known = false;
	if (queued == 0) {
		pace_begin(&input->pace);
		input->urgent = 0;
		input->write_start = input->accepted, input->write_end = input->accepted + count;
	} else if (write->priority) {
		uint64_t at = input->accepted - queued;
		if (at >= input->write_end) input->write_start = input->write_end = at; // that one was typed: this is one by itself
		input->urgent += count;
		input->write_end += count;
	}
	enqueue(input, bytes, count, write->priority);
	input->accepted += count;
	*value = input->accepted;
	remember(input, write->id, *value);
	return INPUT_TAKEN;
}

size_t input_queued(const struct input *input) { return input->tail - input->head; }

bool input_is_tight(const struct input *input, size_t more) { return input->tail - input->start + more > LINE_MOST; }

void input_settled(struct input *input, const struct termios *modes) {
	if (modes->c_lflag & ICANON) return; // it may have been raw when they were written and canonical when they arrived
	input->line_start = input->head;
	input->last_known = false;
}

void input_read(struct input *input, const struct termios *modes, size_t unread) {
	size_t left = unread + unfinished(input, modes);
	if (left < in_flight(input)) input->start = input->head - left;
	if (input->start == input->tail) input->start = input->head = input->tail = input->line_start = 0;
}

size_t input_next(struct input *input, const struct termios *modes, const uint8_t **bytes) {
	size_t flight = in_flight(input);
	size_t room = flight < INPUT_FLIGHT ? INPUT_FLIGHT - flight : 0; // the last byte of it only for a line's end
	*bytes = input->queue + input->head;
	input->held = false;
	size_t queued = input->urgent > 0 ? input->urgent : pace_next(&input->pace, *bytes, input_queued(input), modes);
	if (!input_is_tight(input, 0)) return queued;
	if (!(modes->c_lflag & ICANON)) return queued < room ? queued : room > 0 ? room - 1 : 0;
	// Whole lines, as far as there is room. One that was accepted in raw mode may be too long now: it waits rather than be cut.
	size_t line = unfinished(input, modes), whole = 0;
	for (size_t i = 0; i < queued; i++) {
		bool ends = ends_line((*bytes)[i], modes);
		line = ends ? 0 : line + 1;
		if (line > LINE_MOST) {
			input->held = whole == 0;
			return whole;
		}
		if (ends && i >= room) return whole;
		if (ends) whole = i + 1;
	}
	return queued < room ? queued : whole;
}

void input_written(struct input *input, size_t count) {
	size_t urgent = count < input->urgent ? count : input->urgent;
	input->head += count;
	input->urgent -= urgent;
	if (count > urgent) pace_written(&input->pace, count - urgent, input_queued(input) > 0);
}

void input_taken(struct input *input, const struct take *take, const struct termios *modes) {
	if (take != NULL) pace_taken(&input->pace, take, modes);
	input->pace.paused = false;
}

size_t input_refuse(struct input *input, const struct termios *modes, uint64_t *typed, size_t *line) {
	uint64_t at = input->accepted - input_queued(input);
	bool begun = unfinished(input, modes) > 0 || (!input->pace.canonical && input->pace.left < input->pace.bytes);
	if (!input->held || begun || at <= input->write_start || at >= input->write_end) return 0;
	size_t count = (size_t)(input->write_end - at);
	const uint8_t *bytes = input->queue + input->head;
	*typed = at - input->write_start;
	for (*line = 0; *line < count && !ends_line(bytes[*line], modes);) ++*line;
	memmove(input->queue + input->head, bytes + count, input_queued(input) - count);
	input->tail -= count;
	input->urgent -= count < input->urgent ? count : input->urgent; // they came in front of what they are refused with
	pace_begin(&input->pace);
	input->held = input->last_known = false;
	return count;
}

size_t input_drop(struct input *input, bool flushed) {
	size_t dropped = input_queued(input);
	input->tail = input->head;
	input->urgent = 0;
	pace_begin(&input->pace);
	if (flushed) input->start = input->head = input->tail = input->line_start = 0;
	input->held = input->last_known = false;
	return dropped;
}
