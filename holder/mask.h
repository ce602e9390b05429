// Known secrets do not get into the log: what comes out is searched for them before it is
// logged or sent, and every byte of a match becomes a star, so that offsets stay true.
//
// A match is found as it is, and in what is left without escape sequences, line ends and other control
// characters, which stay. Pure: bytes come in, bytes come out. A match may begin in one read and end in another: its
// beginning is held back until it is decided or mask_release() takes it. What was let out
// and turns out to be a secret after all is told as ranges to be masked in the log.
#ifndef DIALTONE_MASK_H
#define DIALTONE_MASK_H

#include "patterns.h"

#define MASK_HELD_MOST PATTERN_MOST

struct mask {
	struct patterns patterns;
	struct mask_memory *memory; // NULL: nothing is known, and nothing is done
};

// Gets the offsets of what is to be masked in the log.
struct mask_late {
	void (*mask)(void *context, uint64_t from, uint64_t to);
	void *context;
};

// Adds many patterns: each a length (u16) and so many bytes. The oldest go where there is no room. False: not all can be kept.
bool mask_add_all(struct mask *mask, const uint8_t *records, size_t size);
// Puts what is held back in front of what is read next; how many bytes that are (at most MASK_HELD_MOST).
size_t mask_resume(const struct mask *mask, uint8_t *bytes);
// Masks what was resumed and read, whose first byte has the offset `at`. The first so many bytes may go out; the rest is kept.
size_t mask_pass(struct mask *mask, uint8_t *bytes, size_t count, uint64_t at, const struct mask_late *late);
// Bytes are held back.
bool mask_holds(const struct mask *mask);
// What was read last is one more piece of a secret, of which at least half is there.
bool mask_is_likely(const struct mask *mask);
// What is held back, at most MASK_HELD_MOST bytes: it goes out undecided.
size_t mask_release(struct mask *mask, uint8_t *bytes);
// Forgets everything, and leaves nothing of it in memory.
void mask_wipe(struct mask *mask);

#endif
