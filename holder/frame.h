// Frames: the layout of docs/holder.md, and the reader that turns a stream of bytes into them.
#ifndef DIALTONE_FRAME_H
#define DIALTONE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER ((size_t)8)
#define FRAME_MAGIC 0x314e5444u
#define PROTOCOL_VERSION 1
#define NO_OFFSET UINT64_MAX
#define HELLO_BYTES ((size_t)24) // and then the secret, if there is one
#define INPUT_HEADER ((size_t)32)
#define INPUT_MAX ((size_t)1 << 20)
#define SECRETS_MAX ((size_t)1 << 16)

enum frame_type {
	HELLO = 0x01, ATTACH, CREDIT, INPUT, RESIZE, SIGNAL, END, FACTS, WATCH, SHARE, SECRETS,
	WELCOME = 0x81, OUTPUT, GAP, DONE, REFUSED, FACTS_ANSWER, EVENT, EXIT, FENCED,
};

// One frame in the making. Small payloads stay inside; larger ones get memory for as long as they last.
struct inbox {
	uint8_t header[FRAME_HEADER];
	uint8_t small[64];
	uint8_t *large;
	uint32_t length; // of the payload, once the header is whole
	uint32_t have;   // bytes so far, header included
};

enum inbox_state { INBOX_HUNGRY, INBOX_FRAME, INBOX_BAD };

// Takes bytes up to the end of one frame; `*used` says how many. After INBOX_FRAME read it, then inbox_next().
enum inbox_state inbox_feed(struct inbox *inbox, const uint8_t *bytes, size_t count, size_t *used);
void inbox_next(struct inbox *inbox);
enum frame_type inbox_type(const struct inbox *inbox);
const uint8_t *inbox_payload(const struct inbox *inbox);
// Leaves nothing of the payload in memory.
void inbox_wipe(struct inbox *inbox);

void frame_header(uint8_t header[FRAME_HEADER], enum frame_type type, uint32_t length);

#endif
