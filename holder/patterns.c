#include "patterns.h"

#include <string.h>
#include <sys/mman.h>

#define LIKELY_LEAST 6 // fewer bytes are the beginning of something else often enough

struct pattern_state {
	place child, sibling;  // the first that follows, and the next that follows the same
	place back;            // the longest end of this one that is the beginning of a pattern, too
	place open;            // this one, or the longest end of it, that can go on to be a pattern
	uint16_t begun, found; // how many bytes, and how many of the last ones are a pattern
	uint16_t least;        // the shortest pattern that begins like this
	uint16_t text;         // where it is in `bytes`
	uint8_t byte;          // the last one
};

struct pattern_texts {
	size_t count, used;
	uint16_t lengths[PATTERNS_MOST];
	place first[256]; // what follows the beginning, by its byte
	uint8_t bytes[PATTERNS_BYTES]; // one pattern after the other, the oldest first
};

void wipe(void *bytes, size_t count) {
	volatile uint8_t *each = bytes; // not left out by the compiler although nobody reads it again
	while (count-- > 0) *each++ = 0;
}

static void *pages(size_t size) {
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) return NULL;
	mlock(memory, size);
#ifdef MADV_DONTDUMP
	madvise(memory, size, MADV_DONTDUMP);
#endif
	return memory;
}

static void give_back(void *memory, size_t size) {
	if (memory == NULL) return;
	wipe(memory, size);
	munmap(memory, size);
}

// --- the texts ------------------------------------------------------------------------

static bool is_known(const struct pattern_texts *texts, const uint8_t *pattern, size_t length) {
	for (size_t i = 0, at = 0; i < texts->count; at += texts->lengths[i++])
		if (texts->lengths[i] == length && memcmp(texts->bytes + at, pattern, length) == 0) return true;
	return false;
}

static void drop_oldest(struct pattern_texts *texts) {
	size_t length = texts->lengths[0];
	texts->used -= length, texts->count--;
	memmove(texts->bytes, texts->bytes + length, texts->used);
	wipe(texts->bytes + texts->used, length);
	memmove(texts->lengths, texts->lengths + 1, texts->count * sizeof *texts->lengths);
}

bool patterns_add(struct patterns *patterns, const uint8_t *pattern, size_t length) {
	if (length < PATTERN_LEAST || length > PATTERN_MOST) return false;
	if (patterns->texts == NULL && (patterns->texts = pages(sizeof(struct pattern_texts))) == NULL) return false;
	struct pattern_texts *texts = patterns->texts;
	if (is_known(texts, pattern, length)) return true;
	while (texts->count == PATTERNS_MOST || texts->used + length > sizeof texts->bytes) drop_oldest(texts);
	memcpy(texts->bytes + texts->used, pattern, length);
	texts->used += length;
	texts->lengths[texts->count++] = (uint16_t)length;
	return true;
}

// --- the automaton ----------------------------------------------------------------------

static place child_of(const struct patterns *patterns, place parent, uint8_t byte) {
	if (parent == 0) return patterns->texts->first[byte];
	place child = patterns->states[parent].child;
	while (child != 0 && patterns->states[child].byte != byte) child = patterns->states[child].sibling;
	return child;
}

place patterns_step(const struct patterns *patterns, place from, uint8_t byte) {
	for (;;) {
		place next = child_of(patterns, from, byte);
		if (next != 0 || from == 0) return next;
		from = patterns->states[from].back;
	}
}

// The states of one pattern that are not there yet. The number of states.
static size_t grow(struct patterns *patterns, size_t text, size_t length, size_t count) {
	place at = 0;
	for (size_t i = 0; i < length; i++) {
		uint8_t byte = patterns->texts->bytes[text + i];
		place next = child_of(patterns, at, byte);
		if (next == 0) {
			next = (place)count++;
			struct pattern_state *state = &patterns->states[next];
			*state = (struct pattern_state){.begun = (uint16_t)(i + 1), .least = (uint16_t)length, .text = (uint16_t)text, .byte = byte};
			if (at == 0) patterns->texts->first[byte] = next;
			else state->sibling = patterns->states[at].child, patterns->states[at].child = next;
		}
		at = next;
		if (length < patterns->states[at].least) patterns->states[at].least = (uint16_t)length;
	}
	patterns->states[at].found = (uint16_t)length;
	return count;
}

// Shorter beginnings first: where a state goes back to is a shorter one. The queue is a list through `queue`.
static void link_back(struct patterns *patterns, place *queue) {
	size_t head = 0, tail = 0;
	for (size_t byte = 0; byte < 256; byte++)
		if (patterns->texts->first[byte] != 0) queue[tail++] = patterns->texts->first[byte];
	while (head < tail) {
		place parent = queue[head++];
		struct pattern_state *state = &patterns->states[parent];
		if (patterns->states[state->back].found > state->found) state->found = patterns->states[state->back].found;
		state->open = state->child != 0 ? parent : patterns->states[state->back].open;
		for (place child = state->child; child != 0; child = patterns->states[child].sibling) {
			patterns->states[child].back = patterns_step(patterns, state->back, patterns->states[child].byte);
			queue[tail++] = child;
		}
	}
}

bool patterns_build(struct patterns *patterns) {
	struct pattern_texts *texts = patterns->texts;
	if (texts == NULL) return true;
	size_t size = (texts->used + 1) * (sizeof(struct pattern_state) + sizeof(place));
	if (size > patterns->states_size) {
		void *states = pages(2 * size);
		if (states == NULL) return false;
		give_back(patterns->states, patterns->states_size);
		patterns->states = states, patterns->states_size = 2 * size;
	}
	memset(patterns->states, 0, size);
	memset(texts->first, 0, sizeof texts->first);
	size_t count = 1;
	for (size_t i = 0, at = 0; i < texts->count; at += texts->lengths[i++]) count = grow(patterns, at, texts->lengths[i], count);
	link_back(patterns, (place *)(void *)(patterns->states + texts->used + 1));
	return true;
}

size_t patterns_skip(const struct patterns *patterns, const uint8_t *bytes, size_t count, uint8_t or) {
	const place *first = patterns->texts->first;
	size_t i = 0;
	while (i < count && first[bytes[i]] == 0 && bytes[i] != or) i++;
	return i;
}

size_t patterns_begun(const struct patterns *patterns, place at) { return patterns->states[patterns->states[at].open].begun; }
size_t patterns_found(const struct patterns *patterns, place at) { return patterns->states[at].found; }

bool patterns_are_likely(const struct patterns *patterns, place at) {
	const struct pattern_state *state = &patterns->states[patterns->states[at].open];
	return state->begun >= LIKELY_LEAST && 2 * state->begun >= state->least;
}

size_t patterns_copy(const struct patterns *patterns, place at, uint8_t *bytes) {
	size_t begun = at == 0 ? 0 : patterns->states[at].begun;
	if (begun > 0) memcpy(bytes, patterns->texts->bytes + patterns->states[at].text, begun);
	return begun;
}

void patterns_wipe(struct patterns *patterns) {
	give_back(patterns->states, patterns->states_size);
	give_back(patterns->texts, sizeof(struct pattern_texts));
	*patterns = (struct patterns){0};
}
