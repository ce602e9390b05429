// The texts that are searched for, as one automaton (Aho and Corasick): each byte of the
// output is one step, whatever there is to be found and however often it almost is.
//
// In pages of its own: not swapped out where the system allows it, and in no core dump.
#ifndef DIALTONE_PATTERNS_H
#define DIALTONE_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERNS_MOST 256
#define PATTERN_LEAST ((size_t)4)
#define PATTERN_MOST ((size_t)4096)
#define PATTERNS_BYTES ((size_t)65535) // of all; a state for each, and the one at the beginning

// What was read last is the beginning of a pattern: which one, as a state. 0: of none.
typedef uint16_t place;

struct patterns {
	struct pattern_texts *texts; // NULL: there are none
	struct pattern_state *states;
	size_t states_size; // in bytes
};

// Adds one; the oldest go where there is no room. False: it cannot be kept. Then, and whenever some were added,
// `patterns_build` makes the automaton; a place means nothing any more.
bool patterns_add(struct patterns *patterns, const uint8_t *pattern, size_t length);
bool patterns_build(struct patterns *patterns);
// The place after one more byte.
place patterns_step(const struct patterns *patterns, place from, uint8_t byte);
// How many of these bytes come before the first that a pattern begins with, or this one.
size_t patterns_skip(const struct patterns *patterns, const uint8_t *bytes, size_t count, uint8_t or);
// How many of the last bytes are the beginning of a pattern, and not all of it.
size_t patterns_begun(const struct patterns *patterns, place at);
// That is at least half of it.
bool patterns_are_likely(const struct patterns *patterns, place at);
// How many of the last bytes are a whole pattern, the longest of them; 0: none.
size_t patterns_found(const struct patterns *patterns, place at);
// Copies what was begun, at most PATTERN_MOST bytes.
size_t patterns_copy(const struct patterns *patterns, place at, uint8_t *bytes);
// Forgets everything, and leaves nothing of it in memory.
void patterns_wipe(struct patterns *patterns);
void wipe(void *bytes, size_t count);

#endif
