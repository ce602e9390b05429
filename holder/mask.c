#include "mask.h"

#include <string.h>
#include <sys/mman.h>

#include "bytes.h"

#define STAR '*'
#define ESC 0x1b
// One byte says nothing, and a prompt must not wait because it ends with the first letter of a secret.
#define HELD_LEAST 2

// Bytes that were masked in one piece, as numbers of a stream: none is masked again with the next match.
struct span {
	uint64_t from, to;
};

enum escape { GROUND, ESCAPE, CONTROL, STRING, STRING_ESCAPE };

struct mask_memory {
	size_t held;         // bytes at the end of what was read that are not out
	size_t begun;        // of the longest beginning there
	bool grew;           // … by the last pass
	place plain, shown;  // how far the output as it is, and what it shows, has come in a pattern
	enum escape escape;
	uint64_t shown_count; // bytes that showed something and were part of a beginning, so far
	struct span plain_done, shown_done;
	uint64_t offsets[PATTERN_MOST]; // of the last of them, by their number
	uint8_t tail[MASK_HELD_MOST];
};

static bool learn(struct mask *mask, const uint8_t *records, size_t size) {
	for (size_t at = 0; at < size;) {
		size_t length = at + 2 <= size ? get16(records + at) : 0;
		if (length == 0 || at + 2 + length > size || !patterns_add(&mask->patterns, records + at + 2, length)) return false;
		at += 2 + length;
	}
	return true;
}

static place follow(const struct patterns *patterns, const uint8_t *bytes, size_t count) {
	place at = 0;
	for (size_t i = 0; i < count; i++) at = patterns_step(patterns, at, bytes[i]);
	return at;
}

bool mask_add_all(struct mask *mask, const uint8_t *records, size_t size) {
	// What has begun goes on with the new patterns.
	uint8_t plain[PATTERN_MOST], shown[PATTERN_MOST];
	size_t plain_count = 0, shown_count = 0;
	if (mask->memory != NULL) {
		plain_count = patterns_copy(&mask->patterns, mask->memory->plain, plain);
		shown_count = patterns_copy(&mask->patterns, mask->memory->shown, shown);
	}
	bool kept = learn(mask, records, size), built = patterns_build(&mask->patterns);
	if (mask->memory == NULL && mask->patterns.states != NULL) {
		void *memory = mmap(NULL, sizeof *mask->memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory != MAP_FAILED) mlock(memory, sizeof *mask->memory), mask->memory = memory;
	}
	if (mask->memory != NULL && built) {
		mask->memory->plain = follow(&mask->patterns, plain, plain_count);
		mask->memory->shown = follow(&mask->patterns, shown, shown_count);
	}
	wipe(plain, plain_count), wipe(shown, shown_count);
	return kept && built && (mask->memory != NULL || size == 0);
}

size_t mask_resume(const struct mask *mask, uint8_t *bytes) {
	if (mask->memory == NULL) return 0;
	memcpy(bytes, mask->memory->tail, mask->memory->held);
	return mask->memory->held;
}

// --- what a byte shows ------------------------------------------------------------------

static enum escape after_escape(uint8_t byte) {
	if (byte == '[') return CONTROL;
	if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_') return STRING;
	return byte < 0x30 ? ESCAPE : GROUND; // intermediate characters, and controls
}

// Whether it is a character of the text, and not of an escape sequence, nor a control character but a tab.
static bool shows(enum escape *state, uint8_t byte) {
	enum escape was = *state;
	if (byte == 0x18 || byte == 0x1a) *state = GROUND; // cancelled
	else if (byte == ESC) *state = was == STRING ? STRING_ESCAPE : ESCAPE;
	else if (was == GROUND) return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
	else if (was == ESCAPE) *state = after_escape(byte);
	else if (was == CONTROL) *state = byte >= 0x40 && byte <= 0x7e ? GROUND : CONTROL;
	else if (was == STRING) *state = byte == 0x07 ? GROUND : STRING;
	else *state = byte == '\\' ? GROUND : after_escape(byte);
	return false;
}

// --- what is masked ------------------------------------------------------------------------

struct pass {
	uint8_t *bytes;
	uint64_t at; // the offset of the first
	const struct mask_late *late;
	struct span late_run; // told when it ends
};

static void tell_late(struct pass *pass) {
	if (pass->late_run.to > pass->late_run.from) pass->late->mask(pass->late->context, pass->late_run.from, pass->late_run.to);
	pass->late_run = (struct span){0, 0};
}

static void star(struct pass *pass, uint64_t offset) {
	if (offset >= pass->at) {
		pass->bytes[offset - pass->at] = STAR;
		return;
	}
	if (offset != pass->late_run.to) tell_late(pass), pass->late_run.from = offset;
	pass->late_run.to = offset + 1;
}

// What of a match is not masked yet: [from, to) without the span before it. Two pieces at most.
static void missing(struct span *done, uint64_t from, uint64_t to, struct span pieces[2]) {
	if (from > done->to || done->to == 0) *done = (struct span){from, from};
	pieces[0] = (struct span){from, from < done->from ? done->from : from};
	pieces[1] = (struct span){done->to, to};
	*done = (struct span){from < done->from ? from : done->from, to};
}

static uint64_t offset_of(const struct mask_memory *memory, uint64_t number) { return memory->offsets[number % PATTERN_MOST]; }

static void mask_plain(struct pass *pass, struct mask_memory *memory, uint64_t end, size_t found) {
	struct span pieces[2];
	missing(&memory->plain_done, end - found, end, pieces);
	for (size_t i = 0; i < 2; i++)
		for (uint64_t offset = pieces[i].from; offset < pieces[i].to; offset++) star(pass, offset);
}

static void mask_shown(struct pass *pass, struct mask_memory *memory, size_t found) {
	struct span pieces[2];
	missing(&memory->shown_done, memory->shown_count - found, memory->shown_count, pieces);
	for (size_t i = 0; i < 2; i++)
		for (uint64_t number = pieces[i].from; number < pieces[i].to; number++) star(pass, offset_of(memory, number));
}

static void take(const struct patterns *patterns, struct mask_memory *memory, struct pass *pass, size_t i) {
	uint64_t offset = pass->at + i;
	uint8_t byte = pass->bytes[i];
	memory->plain = patterns_step(patterns, memory->plain, byte);
	size_t plain = patterns_found(patterns, memory->plain), shown = 0;
	if (shows(&memory->escape, byte)) {
		memory->shown = patterns_step(patterns, memory->shown, byte);
		if (memory->shown != 0) memory->offsets[memory->shown_count++ % PATTERN_MOST] = offset;
		shown = patterns_found(patterns, memory->shown);
	}
	if (plain > 0) mask_plain(pass, memory, offset + 1, plain);
	if (shown > 0 && offset_of(memory, memory->shown_count - shown) + plain <= offset) mask_shown(pass, memory, shown);
}

static bool is_at_rest(const struct mask_memory *memory) { return memory->plain == 0 && memory->shown == 0 && memory->escape == GROUND; }

// The offset from which on bytes are held back: those that are not out and may be part of a secret, and what follows.
static uint64_t undecided(const struct mask_memory *memory, size_t plain, size_t shown, uint64_t at, uint64_t end) {
	uint64_t from = end;
	if (plain >= HELD_LEAST) from = end - plain > at ? end - plain : at;
	if (shown < HELD_LEAST) return from;
	for (uint64_t number = memory->shown_count - shown; number < memory->shown_count; number++) {
		uint64_t offset = offset_of(memory, number);
		if (offset >= at) return offset < from ? offset : from;
	}
	return from;
}

size_t mask_pass(struct mask *mask, uint8_t *bytes, size_t count, uint64_t at, const struct mask_late *late) {
	struct mask_memory *memory = mask->memory;
	if (memory == NULL) return count;
	struct pass pass = {bytes, at, late, {0, 0}};
	for (size_t i = memory->held; i < count; i++) {
		if (is_at_rest(memory)) i += patterns_skip(&mask->patterns, bytes + i, count - i, ESC); // most output
		if (i < count) take(&mask->patterns, memory, &pass, i);
	}
	tell_late(&pass);
	size_t plain = patterns_begun(&mask->patterns, memory->plain), shown = patterns_begun(&mask->patterns, memory->shown);
	size_t begun = plain > shown ? plain : shown;
	memory->grew = begun > memory->begun;
	memory->begun = begun;
	size_t held = (size_t)(at + count - undecided(memory, plain, shown, at, at + count));
	memory->held = held < MASK_HELD_MOST ? held : MASK_HELD_MOST;
	memcpy(memory->tail, bytes + count - memory->held, memory->held);
	return count - memory->held;
}

bool mask_holds(const struct mask *mask) { return mask->memory != NULL && mask->memory->held > 0; }

bool mask_is_likely(const struct mask *mask) {
	const struct mask_memory *memory = mask->memory;
	return memory != NULL && memory->grew && (patterns_are_likely(&mask->patterns, memory->plain) || patterns_are_likely(&mask->patterns, memory->shown));
}

size_t mask_release(struct mask *mask, uint8_t *bytes) {
	size_t count = mask_resume(mask, bytes);
	if (count > 0) mask->memory->held = 0;
	return count;
}

void mask_wipe(struct mask *mask) {
	if (mask->memory != NULL) {
		wipe(mask->memory, sizeof *mask->memory);
		munmap(mask->memory, sizeof *mask->memory);
	}
	patterns_wipe(&mask->patterns);
	*mask = (struct mask){0};
}
