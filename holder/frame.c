// Turns bytes into frames. Lengths are checked before anything is allocated or
// copied, so what reaches a handler has every field that its type promises.
#include "frame.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "mask.h"
#include "secret.h"

// What a client may send, and how long it is. `zero` is the offset of a u16 or u32 that must be zero, if any.
static const struct {
	uint32_t least, most;
	uint8_t zero_at, zero_bytes;
} layouts[SECRETS + 1] = {
	[HELLO] = {HELLO_BYTES, HELLO_BYTES + SECRET_BYTES, 12, 4},
	[ATTACH] = {16, 16, 0, 0},
	[CREDIT] = {8, 8, 0, 0},
	[INPUT] = {INPUT_HEADER + 1, INPUT_HEADER + INPUT_MAX, 0, 0},
	[RESIZE] = {12, 12, 0, 0},
	[SIGNAL] = {8, 8, 6, 2},
	[END] = {8, 8, 0, 0},
	[FACTS] = {4, 4, 0, 0},
	[WATCH] = {12, 12, 0, 0},
	[SHARE] = {8, 8, 4, 4},
	[SECRETS] = {10, 8 + SECRETS_MAX, 4, 4},
};

enum frame_type inbox_type(const struct inbox *inbox) { return inbox->header[4]; }

const uint8_t *inbox_payload(const struct inbox *inbox) { return inbox->large != NULL ? inbox->large : inbox->small; }

void inbox_wipe(struct inbox *inbox) {
	if (inbox->large != NULL) wipe(inbox->large, inbox->length);
	else wipe(inbox->small, sizeof inbox->small);
}

static enum inbox_state take_header(struct inbox *inbox) {
	uint8_t type = inbox->header[4];
	inbox->length = get32(inbox->header);
	if (type < HELLO || type > SECRETS || inbox->header[5] != 0 || get16(inbox->header + 6) != 0) return INBOX_BAD;
	if (inbox->length < layouts[type].least || inbox->length > layouts[type].most) return INBOX_BAD;
	if (inbox->length > sizeof inbox->small && (inbox->large = malloc(inbox->length)) == NULL) return INBOX_BAD;
	return INBOX_HUNGRY;
}

enum inbox_state inbox_feed(struct inbox *inbox, const uint8_t *bytes, size_t count, size_t *used) {
	*used = 0;
	if (inbox->have < FRAME_HEADER) {
		size_t part = FRAME_HEADER - inbox->have;
		if (part > count) part = count;
		memcpy(inbox->header + inbox->have, bytes, part);
		inbox->have += (uint32_t)part;
		*used = part;
		if (inbox->have < FRAME_HEADER) return INBOX_HUNGRY;
		if (take_header(inbox) == INBOX_BAD) return INBOX_BAD;
	}
	size_t filled = inbox->have - FRAME_HEADER;
	size_t part = inbox->length - filled;
	if (part > count - *used) part = count - *used;
	if (part > 0) memcpy((inbox->large != NULL ? inbox->large : inbox->small) + filled, bytes + *used, part);
	inbox->have += (uint32_t)part;
	*used += part;
	if (inbox->have < FRAME_HEADER + inbox->length) return INBOX_HUNGRY;

	uint8_t type = inbox->header[4];
	for (int i = 0; i < layouts[type].zero_bytes; i++)
		if (inbox_payload(inbox)[layouts[type].zero_at + i] != 0) return INBOX_BAD;
	return INBOX_FRAME;
}

void inbox_next(struct inbox *inbox) {
	free(inbox->large);
	inbox->large = NULL;
	inbox->length = inbox->have = 0;
}

void frame_header(uint8_t header[FRAME_HEADER], enum frame_type type, uint32_t length) {
	put32(header, length);
	header[4] = (uint8_t)type;
	header[5] = header[6] = header[7] = 0;
}
