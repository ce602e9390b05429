// What the disk is asked for: output appended, older output read, the exit written.
//
// The loop's half of the log. What comes out waits here until it is on disk, and is
// shown to clients then. One thing is done at a time, as work that may take long
// (takeover.h); while it does, the loop goes on, and output waits within a bound.
#ifndef DIALTONE_DISK_H
#define DIALTONE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"
#include "log.h"
#include "takeover.h"

// Output that waits for a disk that does not answer. Beyond this the terminal is not read, so the program waits too.
#define DISK_QUEUE ((size_t)1 << 20)

// Output, or (then without bytes) the terminal's new size or a secret that was logged, in the order in which it came.
struct piece {
	struct piece *next;
	int64_t at; // µs
	uint64_t offset;
	size_t count;
	unsigned cols, rows;
	uint64_t mask_to; // what was logged from `offset` up to here is to be masked; 0: nothing
	uint8_t *bytes;
};

enum disk_task { DISK_APPEND, DISK_READ, DISK_EXIT };

struct disk {
	// The loop's own.
	struct piece *first, *last;
	size_t waiting;  // bytes of memory
	uint64_t taken;  // offset after the last byte that came out of the terminal
	uint64_t logged; // offset up to which all is on disk, or lost and reported: what clients may see
	uint64_t lost;   // bytes that could not be written
	bool batch_used;
	bool out_of_memory;
	bool told; // to clients: it has not answered for a second

	// What is being done, and its result: the thread's that does it, as are holder->log and holder->exit_file.
	struct work work;
	enum disk_task task;
	struct piece *piece;
	enum log_news news;
	int reader; // the client's place
	uint64_t offset, gap_to;
	size_t count;
	enum log_read found;
	int error; // of writing the exit; 0: it is on disk

	// Large and last: untouched in an idle holder.
	struct piece batch; // for the usual case of one at a time
	uint8_t batch_bytes[OUTPUT_MOST];
	uint8_t read_bytes[OUTPUT_MOST];
};

struct holder;

// Room for OUTPUT_MOST bytes of output, or NULL: wait until the disk has taken some. Given back by one of the next two.
struct piece *disk_room(struct holder *holder);
void disk_take(struct holder *holder, struct piece *piece, size_t count, int64_t now);
void disk_put_back(struct holder *holder, struct piece *piece);
bool disk_is_full(const struct holder *holder);
void disk_resized(struct holder *holder, int64_t now);
void disk_mask(struct holder *holder, uint64_t from, uint64_t to);

// Something is under way in another thread, which this one has taken the loop over from.
bool disk_is_busy(const struct holder *holder);
// Does what is due. False: see work_do().
bool disk_step(struct holder *holder, int64_t now);
int64_t disk_next(const struct holder *holder);

#endif
