// Everything that came out, on disk: segments named by offset, and the timing.
#ifndef DIALTONE_LOG_H
#define DIALTONE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment {
	uint64_t start, length;
};

struct log {
	int dir, out, timing;
	struct segment *segments;
	size_t count, capacity;
	uint64_t size;  // absolute offset after the last byte that came out
	uint64_t kept;  // bytes in segments
	uint64_t lost;  // bytes that could not be written
	uint64_t quota, segment_bytes;
	bool losing;    // the last write failed
	int error;      // … for this reason
	uint64_t lost_from;
	int64_t retry_at, retry_pause; // µs
	int64_t timing_at;             // when the last line was written, µs
	uint64_t timing_owed;          // bytes that are in no line yet
	uint64_t timing_bytes;
};

enum log_news { LOG_NOTHING, LOG_LOST, LOG_BACK };

struct log_options {
	int dir; // stays the caller's
	uint64_t quota, segment_bytes;
	const char *pts;
	unsigned cols, rows;
};

// Creates the first segment and the timing. On failure nothing is left, and errno has the reason.
bool log_open(struct log *log, const struct log_options *options);
// Gives back the log of a session that never started.
void log_undo(struct log *log);
// Never fails for the caller: what cannot be written becomes a gap, and the news reports when one begins and ends.
enum log_news log_append(struct log *log, const uint8_t *bytes, size_t count, int64_t now);
void log_resized(struct log *log, unsigned cols, unsigned rows, int64_t now);
void log_ended(struct log *log, int code, int64_t now);

// Overwrites what was logged from one offset up to another.
void log_mask(const struct log *log, uint64_t from, uint64_t to);

enum log_read { LOG_BYTES, LOG_GAP, LOG_END, LOG_LATER };
// What is at this offset: bytes (`*count` of them), or a gap up to `*gap_to`, or nothing yet.
enum log_read log_read(const struct log *log, uint64_t offset, uint8_t *bytes, size_t *count, uint64_t *gap_to);

#endif
