// The log is append-only and outlives everybody. Two files are written per batch
// (bytes, then their timing line), none is synced: they survive any process kill.
//
// A full disk never stops the program. What cannot be written is a gap: from
// where the last segment ends to where the next one starts.
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os.h"

// A full disk is retried soon (it may be being cleared), then with back-off.
#define RETRY_FIRST_US 100000
#define RETRY_MOST_US 5000000
// A program that prints byte by byte would write more timing than output. Past this share of the quota
// a line a second is enough; offsets stay exact because owed bytes are added up.
#define TIMING_SHARE 8
#define TIMING_COARSE_US 1000000

#define NAME_MAX_BYTES 32

static void segment_name(char name[NAME_MAX_BYTES], uint64_t start) {
	snprintf(name, NAME_MAX_BYTES, "out.%020" PRIu64, start);
}

static int create(int dir, const char *name) {
	return openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// All bytes or an error; `*written` counts those that are there in any case.
static bool write_all(int fd, const void *bytes, size_t count, size_t *written) {
	*written = 0;
	while (*written < count) {
		ssize_t put = write(fd, (const char *)bytes + *written, count - *written);
		if (put > 0) *written += (size_t)put;
		else if (put == 0) errno = ENOSPC;
		if (put == 0 || (put < 0 && errno != EINTR)) return false;
	}
	return true;
}

// Lines are written atomically, so that a reader never sees half a number.
static bool timing_line(struct log *log, char kind, int64_t now, const char *rest) {
	char line[160];
	int64_t delta = now - log->timing_at;
	int length = snprintf(line, sizeof line, "%c %" PRId64 ".%06" PRId64 " %s\n", kind, delta / 1000000, delta % 1000000, rest);
	size_t written;
	if (length < 0 || (size_t)length >= sizeof line) return false;
	if (!write_all(log->timing, line, (size_t)length, &written)) {
		if (written > 0 && ftruncate(log->timing, (off_t)log->timing_bytes) != 0) log->timing_bytes += written;
		return false;
	}
	log->timing_bytes += (size_t)length;
	log->timing_at = now;
	return true;
}

static void timing_output(struct log *log, int64_t now) {
	char rest[24];
	if (log->timing_owed == 0) return;
	snprintf(rest, sizeof rest, "%" PRIu64, log->timing_owed);
	if (timing_line(log, 'O', now, rest)) log->timing_owed = 0;
}

static bool add_segment(struct log *log) {
	char name[NAME_MAX_BYTES];
	if (log->count == log->capacity) {
		size_t capacity = log->capacity == 0 ? 4 : log->capacity * 2;
		struct segment *segments = realloc(log->segments, capacity * sizeof *segments);
		if (segments == NULL) return false;
		log->segments = segments, log->capacity = capacity;
	}
	segment_name(name, log->size);
	int fd = create(log->dir, name);
	if (fd < 0) return false;
	if (log->out >= 0) close(log->out);
	log->out = fd;
	log->segments[log->count++] = (struct segment){.start = log->size};
	return true;
}

static void drop_segment(struct log *log, size_t index) {
	char name[NAME_MAX_BYTES];
	segment_name(name, log->segments[index].start);
	unlinkat(log->dir, name, 0);
	log->kept -= log->segments[index].length;
	log->count--;
	memmove(log->segments + index, log->segments + index + 1, (log->count - index) * sizeof *log->segments);
}

// The beginning (how it was started) and the newest are worth most: the oldest in between goes first.
static void make_room(struct log *log) {
	while (log->quota > 0 && log->count > 2 && log->kept + log->segment_bytes > log->quota) drop_segment(log, 1);
}

bool log_open(struct log *log, const struct log_options *options) {
	*log = (struct log){.dir = options->dir, .out = -1, .timing = -1, .quota = options->quota};
	log->segment_bytes = options->segment_bytes;
	// A segment is dropped whole, so a quota needs several to be kept with any precision.
	if (log->quota > 0 && log->segment_bytes > log->quota / 4) log->segment_bytes = log->quota / 4 > 4096 ? log->quota / 4 : 4096;
	log->timing_at = now_us();
	if (!add_segment(log)) return false;
	if ((log->timing = create(log->dir, "timing")) < 0) {
		int error = errno;
		drop_segment(log, 0);
		log_undo(log);
		errno = error;
		return false;
	}
	char rest[96];
	time_t now = time(NULL);
	struct tm parts;
	size_t length = strftime(rest, sizeof rest, "START_TIME %Y-%m-%d %H:%M:%S+00:00", gmtime_r(&now, &parts));
	int64_t start = log->timing_at;
	bool ok = length > 0 && timing_line(log, 'H', start, rest);
	snprintf(rest, sizeof rest, "TTY %s", options->pts);
	ok = ok && timing_line(log, 'H', start, rest);
	snprintf(rest, sizeof rest, "COLUMNS %u", options->cols);
	ok = ok && timing_line(log, 'H', start, rest);
	snprintf(rest, sizeof rest, "LINES %u", options->rows);
	ok = ok && timing_line(log, 'H', start, rest);
	if (ok) return true;
	int error = errno;
	log_undo(log);
	errno = error;
	return false;
}

void log_undo(struct log *log) {
	if (log->timing >= 0) unlinkat(log->dir, "timing", 0), close(log->timing);
	while (log->count > 0) drop_segment(log, log->count - 1);
	if (log->out >= 0) close(log->out);
	free(log->segments);
	*log = (struct log){.dir = -1, .out = -1, .timing = -1};
}

// Appends bytes to the log; returns how many were written. If fewer, log->error has the reason.
static size_t append(struct log *log, const uint8_t *bytes, size_t count) {
	size_t done = 0;
	while (done < count) {
		struct segment *last = &log->segments[log->count - 1];
		bool seam = last->start + last->length == log->size;
		if (!seam || last->length >= log->segment_bytes) {
			if (!add_segment(log)) break;
			make_room(log);
			last = &log->segments[log->count - 1];
		}
		size_t part = count - done, written;
		if (part > log->segment_bytes - last->length) part = (size_t)(log->segment_bytes - last->length);
		bool whole = write_all(log->out, bytes + done, part, &written);
		int error = errno;
		done += written, log->size += written, log->kept += written, last->length += written;
		if (whole) continue;
		// An empty segment would claim that the log is back at its offset.
		if (last->length == 0 && log->count > 1) drop_segment(log, log->count - 1);
		errno = error;
		break;
	}
	if (done < count) log->error = errno;
	return done;
}

enum log_news log_append(struct log *log, const uint8_t *bytes, size_t count, int64_t now) {
	enum log_news news = LOG_NOTHING;
	size_t done = log->losing && now < log->retry_at ? 0 : append(log, bytes, count);
	if (done > 0 && log->losing) {
		log->losing = false, log->retry_pause = 0;
		news = LOG_BACK;
	}
	if (done < count) {
		if (!log->losing) {
			log->losing = true, log->lost_from = log->size;
			news = LOG_LOST;
		}
		if (now >= log->retry_at) {
			log->retry_pause = log->retry_pause == 0 ? RETRY_FIRST_US : log->retry_pause * 2;
			if (log->retry_pause > RETRY_MOST_US) log->retry_pause = RETRY_MOST_US;
			log->retry_at = now + log->retry_pause;
		}
		log->size += count - done, log->lost += count - done;
	}
	log->timing_owed += count;
	bool coarse = log->quota > 0 && log->timing_bytes > log->quota / TIMING_SHARE;
	if (!coarse || now - log->timing_at >= TIMING_COARSE_US) timing_output(log, now);
	return news;
}

void log_resized(struct log *log, unsigned cols, unsigned rows, int64_t now) {
	char rest[64];
	timing_output(log, now);
	snprintf(rest, sizeof rest, "SIGWINCH ROWS=%u COLS=%u", rows, cols);
	timing_line(log, 'S', now, rest);
}

void log_ended(struct log *log, int code, int64_t now) {
	char rest[32];
	timing_output(log, now);
	snprintf(rest, sizeof rest, "EXIT_CODE %d", code);
	timing_line(log, 'H', now, rest);
}

void log_mask(const struct log *log, uint64_t from, uint64_t to) {
	for (size_t i = 0; i < log->count; i++) {
		const struct segment *segment = &log->segments[i];
		uint64_t at = from > segment->start ? from : segment->start, end = segment->start + segment->length;
		if (end > to) end = to;
		if (at >= end) continue;
		char name[NAME_MAX_BYTES];
		segment_name(name, segment->start);
		int fd = openat(log->dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW); // our own appends wherever it is told to write
		bool written = fd >= 0;
		for (; at < end && written; at++) written = pwrite(fd, "*", 1, (off_t)(at - segment->start)) == 1;
		if (fd >= 0) close(fd);
	}
}

enum log_read log_read(const struct log *log, uint64_t offset, uint8_t *bytes, size_t *count, uint64_t *gap_to) {
	if (offset >= log->size) return LOG_END;
	size_t low = 0, high = log->count; // the first segment that starts above the offset
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (log->segments[middle].start <= offset) low = middle + 1;
		else high = middle;
	}
	*gap_to = low < log->count ? log->segments[low].start : log->size;
	if (low == 0) return LOG_GAP;
	const struct segment *segment = &log->segments[low - 1];
	uint64_t left = segment->start + segment->length;
	if (offset >= left) return LOG_GAP;
	left -= offset;

	char name[NAME_MAX_BYTES];
	segment_name(name, segment->start);
	int fd = openat(log->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? LOG_LATER : LOG_GAP;
	ssize_t got;
	do got = pread(fd, bytes, *count < left ? *count : (size_t)left, (off_t)(offset - segment->start));
	while (got < 0 && errno == EINTR);
	close(fd);
	if (got <= 0) return LOG_GAP; // the file was truncated or removed: report it rather than hang
	*count = (size_t)got;
	return LOG_BYTES;
}
