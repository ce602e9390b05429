// One connection: what was sent, its position in the log, and what is still to be sent.
#ifndef DIALTONE_CLIENT_H
#define DIALTONE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "log.h"

#define CLIENTS_MOST 64 // that have said HELLO; the last of these places is an owner's
#define WAITING_MOST 64 // that have not yet, or are leaving: the next one takes the oldest one's place
#define PLACES_MOST (CLIENTS_MOST + WAITING_MOST)
#define OUTPUT_MOST ((size_t)65536)
// Answers waiting for a client: beyond the first it is not read from, beyond the second it has gone away in all but name.
#define BACKLOG_QUIET ((size_t)65536 + 4096)
#define BACKLOG_MOST ((size_t)512 << 10)

struct client {
	int fd; // -1: a free place
	struct inbox inbox;
	bool greeted, owner, fenced;
	bool leaving; // has had its last frame: its input is drained and ignored until it closes
	int64_t leave_by; // it is closed then, if it is leaving or has not said HELLO
	bool attached;
	uint64_t cursor, until;
	bool read_due; // it takes more, and that has to be read from the log
	bool reading;  // … and is being read
	unsigned exit_told; // how many EXIT frames of holder->exits it has
	bool watching, facts_due;
	int64_t answered_at;    // when it last got facts that it had asked for
	uint32_t busy_ms;
	int nice; // of the programs, see share.h
	size_t wants_room; // bytes that were refused queue_full, or 0
	uint8_t *out;    // frames (or the rest of one) that the socket did not take
	size_t out_head, out_tail, out_capacity;
	uint64_t sent; // bytes that its socket has taken
};

void client_open(struct client *client, int fd);
void client_close(struct client *client);
// Sends a frame or keeps what the socket does not take. `head` and `body` are its payload, in two parts for no copy's sake.
void client_send(struct client *client, enum frame_type type, const void *head, size_t head_size, const void *body, size_t body_size);
void client_flush(struct client *client);
// Has no place of its own yet, or no more: nothing is lost with it.
bool client_is_passing(const struct client *client);
bool client_has_backlog(const struct client *client);
// After a last frame. Not closed at once: a client that is still writing would get an error instead of that frame.
void client_leave(struct client *client);

// New bytes, already logged: straight to a client that stands at their offset.
void client_offer(struct client *client, uint64_t offset, const uint8_t *bytes, size_t count);
// Is there something in the log, which ends at `logged`, that it may be sent now?
bool client_is_behind(const struct client *client, uint64_t logged);
// Sends what log_read() found at its cursor.
void client_catch_up(struct client *client, enum log_read found, const uint8_t *bytes, size_t count, uint64_t gap_to);

#endif
