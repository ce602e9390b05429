#include "disk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "holder.h"
#include "os.h"

#define STALLED_US 1000000 // longer is reported to clients
#define AT_ONCE 64         // things done between two turns of the loop
#define CATCH_UP_AGAIN_US 50000

// --- what waits ---------------------------------------------------------------------

bool disk_is_full(const struct holder *holder) {
	size_t most = holder->end.hang_up ? 2 * DISK_QUEUE : DISK_QUEUE; // what is left in the terminal by then would be lost
	return holder->disk.waiting >= most || holder->disk.out_of_memory;
}

struct piece *disk_room(struct holder *holder) {
	struct disk *disk = &holder->disk;
	struct piece *piece = &disk->batch;
	if (disk_is_full(holder)) return NULL;
	if (!disk->batch_used) {
		disk->batch_used = true;
		*piece = (struct piece){.bytes = disk->batch_bytes};
		return piece;
	}
	piece = malloc(sizeof *piece + OUTPUT_MOST);
	disk->out_of_memory = piece == NULL; // until the disk has taken something
	if (piece != NULL) *piece = (struct piece){.bytes = (uint8_t *)(piece + 1)};
	return piece;
}

void disk_put_back(struct holder *holder, struct piece *piece) {
	if (piece == &holder->disk.batch) holder->disk.batch_used = false;
	else free(piece);
}

static void enqueue(struct disk *disk, struct piece *piece) {
	if (disk->last != NULL) disk->last->next = piece;
	else disk->first = piece;
	disk->last = piece;
	disk->waiting += sizeof *piece + piece->count;
}

void disk_take(struct holder *holder, struct piece *piece, size_t count, int64_t now) {
	struct disk *disk = &holder->disk;
	if (piece != &disk->batch) {
		struct piece *cut = realloc(piece, sizeof *piece + count);
		if (cut != NULL) piece = cut, piece->bytes = (uint8_t *)(piece + 1);
	}
	piece->at = now, piece->count = count, piece->offset = disk->taken;
	disk->taken += count;
	enqueue(disk, piece);
}

void disk_resized(struct holder *holder, int64_t now) {
	struct piece *piece = malloc(sizeof *piece);
	if (piece == NULL) return; // the log's timing lacks a line
	*piece = (struct piece){.at = now, .offset = holder->disk.taken, .cols = holder->cols, .rows = holder->rows};
	enqueue(&holder->disk, piece);
}

void disk_mask(struct holder *holder, uint64_t from, uint64_t to) {
	struct piece *piece = malloc(sizeof *piece);
	if (piece == NULL) return; // the beginning of a secret stays in the log
	*piece = (struct piece){.offset = from, .mask_to = to};
	enqueue(&holder->disk, piece);
}

// --- in the thread that does it -------------------------------------------------------

static void run(void *context) {
	struct holder *holder = context;
	struct disk *disk = &holder->disk;
	struct piece *piece = disk->piece;
	switch (disk->task) {
	case DISK_APPEND:
		disk->news = LOG_NOTHING;
		if (piece->count > 0) disk->news = log_append(&holder->log, piece->bytes, piece->count, piece->at);
		else if (piece->mask_to > 0) log_mask(&holder->log, piece->offset, piece->mask_to);
		else log_resized(&holder->log, piece->cols, piece->rows, piece->at);
		break;
	case DISK_READ:
		disk->found = log_read(&holder->log, disk->offset, disk->read_bytes, &disk->count, &disk->gap_to);
		break;
	case DISK_EXIT:
		disk->error = life_write_exit(holder);
		break;
	}
}

// --- what is next, and what becomes of it ------------------------------------------------

static bool wants_reading(const struct holder *holder, int place) {
	const struct client *client = &holder->clients[place];
	return client->read_due && client_is_behind(client, holder->disk.logged) && !client_has_backlog(client);
}

// Output first: the exit comes after all that came out before it.
static bool choose(struct holder *holder) {
	struct disk *disk = &holder->disk;
	if (life_exit_is_due(holder)) {
		disk->task = DISK_EXIT;
		life_compose_exit(holder);
		return true;
	}
	if (disk->first != NULL) {
		disk->task = DISK_APPEND;
		disk->piece = disk->first;
		return true;
	}
	for (int i = 0; i < holder->client_places; i++) {
		struct client *client = &holder->clients[i];
		if (!wants_reading(holder, i)) continue;
		uint64_t credit = client->until - client->cursor;
		disk->task = DISK_READ;
		disk->reader = i;
		disk->offset = client->cursor;
		disk->count = credit < OUTPUT_MOST ? (size_t)credit : OUTPUT_MOST;
		client->read_due = false;
		client->reading = true;
		return true;
	}
	return false;
}

static void tell_log_news(struct holder *holder) {
	char json[160];
	const struct log *log = &holder->log;
	if (holder->disk.news == LOG_LOST)
		snprintf(json, sizeof json, "{\"event\":\"log_lost\",\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"errno\":%d}",
		         log->lost_from, log->size, log->error);
	else
		snprintf(json, sizeof json, "{\"event\":\"log_back\",\"at\":%" PRIu64 "}", log->segments[log->count - 1].start);
	send_event(holder, json);
}

static void appended(struct holder *holder) {
	struct disk *disk = &holder->disk;
	struct piece *piece = disk->piece;
	disk->logged = holder->log.size;
	disk->lost = holder->log.lost;
	disk->first = piece->next;
	if (disk->first == NULL) disk->last = NULL;
	disk->waiting -= sizeof *piece + piece->count;
	disk->out_of_memory = false;
	for (int i = 0; i < holder->client_places && piece->count > 0; i++)
		client_offer(&holder->clients[i], piece->offset, piece->bytes, piece->count);
	if (disk->news != LOG_NOTHING) tell_log_news(holder);
	disk_put_back(holder, piece);
}

// The client may have left, or moved its cursor, while it was read.
static void was_read(struct holder *holder, int64_t now) {
	struct disk *disk = &holder->disk;
	struct client *client = &holder->clients[disk->reader];
	if (!client->reading) return;
	client->reading = false;
	if (disk->found == LOG_LATER) holder->catch_up_at = now + CATCH_UP_AGAIN_US;
	else if (client_is_behind(client, disk->logged) && client->cursor == disk->offset && !client_has_backlog(client))
		client_catch_up(client, disk->found, disk->read_bytes, disk->count, disk->gap_to);
}

static void tell_stall(struct holder *holder, const char *event) {
	char json[80];
	snprintf(json, sizeof json, "{\"event\":\"%s\",\"at\":%" PRIu64 "}", event, holder->disk.logged);
	send_event(holder, json);
}

static void finish(struct holder *holder, int64_t now) {
	struct disk *disk = &holder->disk;
	disk->work.state = WORK_NONE;
	if (disk->told) tell_stall(holder, "disk_back");
	disk->told = false;
	if (disk->task == DISK_APPEND) appended(holder);
	else if (disk->task == DISK_READ) was_read(holder, now);
	else life_exit_written(holder, disk->error);
}

bool disk_is_busy(const struct holder *holder) { return holder->disk.work.state == WORK_RUNNING; }

bool disk_step(struct holder *holder, int64_t now) {
	struct disk *disk = &holder->disk;
	if (disk->work.run == NULL) disk->work.run = run, disk->work.context = holder;
	for (int done = 0; done < AT_ONCE; done++) {
		if (disk->work.state == WORK_RUNNING) {
			if (!disk->told && now - disk->work.began >= STALLED_US) disk->told = true, tell_stall(holder, "disk_stalled");
			return true;
		}
		if (disk->work.state == WORK_DONE) finish(holder, now);
		if (!choose(holder)) return true;
		if (!work_do(&disk->work)) return false;
	}
	return true;
}

int64_t disk_next(const struct holder *holder) {
	const struct disk *disk = &holder->disk;
	if (disk->work.state == WORK_RUNNING) return disk->told ? -1 : disk->work.began + STALLED_US;
	if (disk->work.state == WORK_DONE || disk->first != NULL || life_exit_is_due(holder)) return 1; // now
	for (int i = 0; i < holder->client_places; i++)
		if (wants_reading(holder, i)) return 1;
	return -1;
}
