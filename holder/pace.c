#include "pace.h"

#include <string.h>

// Answers to a few questions in a row, each of which may drop what is typed ahead, or a command and what it reads.
#define ALIKE_LEAST 8
#define LINES_MOST ((size_t)1 << 16)
// Shorter lines do not tell one who reads byte by byte.
#define TELLING_BYTES 8

void pace_begin(struct pace *pace) { *pace = (struct pace){0}; }

static bool starts_with(const unsigned char *bytes, size_t count, const char *word) {
	size_t length = strlen(word);
	return count >= length && memcmp(bytes, word, length) == 0;
}

// Ctrl+C, Ctrl+D, Ctrl+Z, Ctrl+\: another program may read next.
static bool hands_over(unsigned char byte) { return byte == 0x03 || byte == 0x04 || byte == 0x1a || byte == 0x1c; }

static size_t measure(const unsigned char *bytes, size_t count, size_t lines, bool canonical) {
	bool pasted = false; // brackets are one thing to the program
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == 0x1b) pasted = starts_with(bytes + i, count - i, "\x1b[200~") || (pasted && !starts_with(bytes + i, count - i, "\x1b[201~"));
		if (pasted) continue;
		bool hands = hands_over(bytes[i]);
		if (hands && canonical) return i + 1; // to one who takes keys they are keys
		if ((hands || bytes[i] == '\r' || bytes[i] == '\n') && lines-- == 0) return i + 1;
	}
	return count;
}

size_t pace_next(struct pace *pace, const unsigned char *queued, size_t count, const struct termios *modes) {
	bool canonical = (modes->c_lflag & ICANON) != 0;
	if (pace->paused) return 0;
	// Several lines for one who reads lines, and now somebody reads keys.
	bool other = pace->canonical && !canonical && pace->lines > 0;
	if (other) pace->alike = 0, pace->lines = 0;
	if (pace->left == 0 || other) {
		pace->left = pace->bytes = measure(queued, count, pace->lines, canonical);
		pace->canonical = canonical;
	}
	return pace->left < count ? pace->left : count;
}

void pace_written(struct pace *pace, size_t count, bool more) {
	pace->left -= count < pace->left ? count : pace->left;
	pace->paused = pace->left == 0 && more;
}

void pace_taken(struct pace *pace, const struct take *take, const struct termios *modes) {
	bool same = take->reader == pace->last.reader && modes->c_iflag == pace->input_modes && modes->c_lflag == pace->local_modes;
	// A line editor reads byte by byte, so as to leave to others what is theirs: it is never given more than a line.
	bool telling = pace->canonical || pace->bytes >= TELLING_BYTES;
	bool pieces = pace->canonical || (take->reads > 0 && (take->reads - pace->last.reads) * 2 < pace->bytes);
	if (!same || (telling && !pieces)) pace->alike = 0, pace->lines = 0;
	else if (telling && ++pace->alike >= ALIKE_LEAST && pace->lines < LINES_MOST) pace->lines = pace->lines * 2 + 1;
	pace->last = *take;
	pace->input_modes = modes->c_iflag, pace->local_modes = modes->c_lflag;
	pace->paused = false;
}
