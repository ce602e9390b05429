// What a client may ask, one function a frame. Lengths were checked by frame.c;
// here is who may, whether it can be, and what is answered.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "bytes.h"
#include "holder.h"
#include "os.h"
#include "text.h"

#define HELLO_OWNER 1u
#define INPUT_PRIORITY 1u
#define INPUT_HIDDEN 2u
#define DONE_UNSAVED 1u // END: the disk does not answer, so how it ended is not on it yet

static void done_with(struct client *client, uint32_t request, uint32_t flags, uint64_t value) {
	uint8_t payload[16];
	put32(payload, request);
	put32(payload + 4, flags);
	put64(payload + 8, value);
	client_send(client, DONE, payload, sizeof payload, NULL, 0);
}

static void done(struct client *client, uint32_t request, uint64_t value) { done_with(client, request, 0, value); }

static const struct {
	const char *code, *message;
} words[] = {
	{"bad_frame", "This is not a frame of the protocol."},
	{"version", "No common version of the protocol."},
	{"denied", "Only a client with the owner's secret, from outside of the session, may connect."},
	{"not_owner", "Only the owner may do this."},
	{"fenced", "A newer owner has taken over."},
	{"queue_full", "The program does not read; the input queue is full."},
	{"line_too_long", "The terminal is in line mode and would cut a line this long."},
	{"input_gap", "Input before this is missing."},
	{"echo", "The terminal shows what is typed, or other input waits."},
	{"ended", "The program has ended."},
	{"bad_signal", "There is no such signal."},
};

void refuse(struct client *client, uint32_t request, const char *code, int error, const char *extra) {
	char json[512];
	uint8_t head[8] = {0};
	const char *message = strerror(error);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].code, code) == 0) message = words[i].message;
	struct text text = text_in(json, sizeof json);
	text_add(&text, "{\"code\":\"%s\",\"message\":", code);
	text_json(&text, message);
	if (error != 0) text_add(&text, ",\"errno\":%d", error);
	text_add(&text, "%s}", extra != NULL ? extra : "");
	put32(head, request);
	client_send(client, REFUSED, head, sizeof head, json, text.used);
}

void send_event(struct holder *holder, const char *json) {
	for (int i = 0; i < holder->client_places; i++)
		if (holder->clients[i].fd >= 0 && holder->clients[i].greeted)
			client_send(&holder->clients[i], EVENT, json, strlen(json), NULL, 0);
}

static void welcome(struct holder *holder, struct client *client) {
	char json[EXIT_FILE_MAX + 1024];
	struct text text = text_in(json, sizeof json);
	text_add(&text, "{\"version\":%d,\"shares\":true,\"masks\":true,\"holder\":%d,\"pid\":%d,\"pts\":", PROTOCOL_VERSION, (int)holder->self, (int)holder->main_pid);
	text_json(&text, holder->pts);
	// The first segment is never dropped.
	text_add(&text, ",\"epoch\":%" PRIu64 ",\"from\":0,\"size\":%" PRIu64 ",\"inputOffset\":%" PRIu64, holder->epoch,
	         holder->disk.logged, holder->input.accepted);
	text_add(&text, ",\"cols\":%u,\"rows\":%u,\"startedAt\":%" PRId64 ",\"exit\":%s}", holder->cols, holder->rows, holder->started_ms,
	         holder->exits > 0 ? holder->exit_json : "null");
	client_send(client, WELCOME, json, text.used, NULL, 0);
}

static bool knows_secret(const struct holder *holder, const uint8_t *payload, size_t length) {
	if (!holder->has_secret) return true;
	return length == HELLO_BYTES + SECRET_BYTES && secret_is(holder->secret, payload + HELLO_BYTES);
}

// The last place is for an owner. If an owner that it replaces has it, that one goes.
static bool has_place(struct holder *holder, bool owner) {
	struct client *before = NULL;
	int taken = 0;
	for (int i = 0; i < holder->client_places; i++) {
		struct client *other = &holder->clients[i];
		if (other->fd < 0 || client_is_passing(other)) continue;
		taken++;
		if (other->owner) before = other;
	}
	if (taken < (owner ? CLIENTS_MOST : CLIENTS_MOST - 1)) return true;
	if (!owner) return false;
	if (before != NULL) client_leave(before);
	return before != NULL;
}

static void hello(struct holder *holder, struct client *client, const uint8_t *payload) {
	if (get32(payload) != FRAME_MAGIC) {
		refuse(client, 0, "bad_frame", 0, NULL);
		client_leave(client);
		return;
	}
	if (get16(payload + 4) > PROTOCOL_VERSION || get16(payload + 6) < PROTOCOL_VERSION) {
		refuse(client, 0, "version", 0, ",\"lowest\":1,\"highest\":1");
		client_leave(client);
		return;
	}
	if (!knows_secret(holder, payload, client->inbox.length)) {
		refuse(client, 0, "denied", 0, NULL);
		client_leave(client);
		return;
	}
	uint64_t epoch = get64(payload + 16);
	bool owner = (get32(payload + 8) & HELLO_OWNER) != 0;
	if (owner && epoch < holder->epoch) {
		refuse(client, 0, "fenced", 0, NULL);
		client_leave(client);
		return;
	}
	if (!has_place(holder, owner)) {
		refuse(client, 0, "system", EMFILE, NULL);
		client_leave(client);
		return;
	}
	if (owner) {
		for (int i = 0; i < holder->client_places && epoch > holder->epoch; i++) {
			struct client *other = &holder->clients[i];
			uint8_t newer[8];
			if (other->fd < 0 || !other->owner) continue;
			other->owner = false, other->fenced = true;
			put64(newer, epoch);
			client_send(other, FENCED, newer, sizeof newer, NULL, 0);
		}
		holder->epoch = epoch;
		client->owner = true;
	}
	client->greeted = true;
	welcome(holder, client);
}

static void attach(struct holder *holder, struct client *client, const uint8_t *payload) {
	uint64_t from = get64(payload);
	client->cursor = from > holder->disk.logged ? holder->disk.logged : from;
	client->until = get64(payload + 8);
	client->attached = true;
	client->exit_told = 0; // it comes after the last byte, also for one who moves back
}

static void credit(struct holder *holder, struct client *client, const uint8_t *payload) {
	(void)holder;
	if (get64(payload) > client->until) client->until = get64(payload);
}

static void type(struct holder *holder, struct client *client, const uint8_t *payload) {
	uint32_t request = get32(payload);
	struct input_write write = {
		.offset = get64(payload + 8),
		.id = payload + 16,
		.bytes = payload + INPUT_HEADER,
		.count = client->inbox.length - INPUT_HEADER,
		.priority = (get32(payload + 4) & INPUT_PRIORITY) != 0,
		.hidden = (get32(payload + 4) & INPUT_HIDDEN) != 0,
	};
	struct termios modes;
	uint64_t value = 0;
	char extra[64] = "";
	if (holder->master < 0 || tcgetattr(holder->master, &modes) != 0) modes = (struct termios){.c_lflag = write.hidden ? ECHO : 0};
	type_look(holder, &modes, write.count);
	switch (input_accept(&holder->input, &write, &modes, &value)) {
	case INPUT_REPEATED:
		done(client, request, value);
		return;
	case INPUT_FULL:
		client->wants_room = write.count;
		snprintf(extra, sizeof extra, ",\"free\":%zu", INPUT_QUEUE - input_queued(&holder->input));
		refuse(client, request, "queue_full", 0, extra);
		return;
	case INPUT_LINE_TOO_LONG:
		snprintf(extra, sizeof extra, ",\"limit\":%zu", LINE_MOST);
		refuse(client, request, "line_too_long", 0, extra);
		return;
	case INPUT_AFTER_GAP:
		snprintf(extra, sizeof extra, ",\"inputOffset\":%" PRIu64, holder->input.accepted);
		refuse(client, request, "input_gap", 0, extra);
		return;
	case INPUT_SEEN:
		refuse(client, request, "echo", 0, NULL);
		return;
	case INPUT_TAKEN:
		break;
	}
	if (write.priority && write.count == 1 && holder->master >= 0) type_interrupt(holder, write.bytes[0], &modes);
	watch_input(holder);
	type_queued(holder);
	if (write.hidden) {
		// Later the terminal may echo.
		size_t untyped = input_drop(&holder->input, false);
		inbox_wipe(&client->inbox);
		holder->wipe_scratch = true;
		if (untyped > 0) {
			refuse(client, request, "echo", 0, NULL);
			return;
		}
	}
	done(client, request, value);
}

static void resize(struct holder *holder, struct client *client, const uint8_t *payload) {
	uint32_t request = get32(payload);
	struct winsize size = {
		.ws_col = get16(payload + 4), .ws_row = get16(payload + 6), .ws_xpixel = get16(payload + 8), .ws_ypixel = get16(payload + 10)};
	if (size.ws_col == 0 || size.ws_row == 0) {
		refuse(client, request, "system", EINVAL, NULL);
		return;
	}
	// What the program drew for the old size belongs before the line that records the new one.
	take_output(holder);
	release_output(holder);
	if (ioctl(holder->master, TIOCSWINSZ, &size) != 0) {
		refuse(client, request, "system", errno, NULL);
		return;
	}
	if (size.ws_col != holder->cols || size.ws_row != holder->rows) {
		char json[112];
		holder->cols = size.ws_col, holder->rows = size.ws_row;
		disk_resized(holder, now_us());
		snprintf(json, sizeof json, "{\"event\":\"resized\",\"cols\":%u,\"rows\":%u,\"at\":%" PRIu64 "}", holder->cols,
		         holder->rows, holder->disk.taken);
		send_event(holder, json);
		watch_signalled(holder); // SIGWINCH has woken those who handle it
	}
	done(client, request, 0);
}

static void raise_signal(struct holder *holder, struct client *client, const uint8_t *payload) {
	uint32_t request = get32(payload);
	int signal = payload[4], error = 0;
	if (signal < 1 || signal >= NSIG || payload[5] > 2) {
		refuse(client, request, "bad_signal", 0, NULL);
		return;
	}
	if (payload[5] == 2) {
		if (end_signal_tree(holder->self, holder->main_exited ? 0 : holder->main_pid, signal, &error) == 0) error = ESRCH;
	} else {
		pid_t group = payload[5] == 0 && holder->master >= 0 ? tcgetpgrp(holder->master) : 0;
		// A reaped pid may have been reused.
		pid_t target = group > 0 ? -group : life_leader(holder);
		if (target == 0) error = ESRCH;
		else if (kill(target, signal) != 0) error = errno;
	}
	watch_signalled(holder);
	if (error == ESRCH) refuse(client, request, "ended", error, NULL);
	else if (error != 0) refuse(client, request, "system", error, NULL);
	else done(client, request, 0);
}

static void end(struct holder *holder, struct client *client, const uint8_t *payload) {
	uint32_t request = get32(payload);
	if (holder->end_count == ENDS_WAITING) {
		refuse(client, request, "system", EBUSY, NULL);
		return;
	}
	holder->ends[holder->end_count].client = client;
	holder->ends[holder->end_count++].request = request;
	end_begin(&holder->end, "end", (int64_t)get32(payload + 4) * 1000, now_us());
}

void request_ended(struct holder *holder) {
	uint32_t flags = holder->disk.told ? DONE_UNSAVED : 0;
	for (int i = 0; i < holder->end_count; i++)
		done_with(holder->ends[i].client, holder->ends[i].request, flags, holder->end.survivors);
	holder->end_count = 0;
}

void request_forget(struct holder *holder, const struct client *client) {
	int kept = 0;
	for (int i = 0; i < holder->end_count; i++)
		if (holder->ends[i].client != client) holder->ends[kept++] = holder->ends[i];
	holder->end_count = kept;
	kept = 0;
	for (int i = 0; i < holder->ask_count; i++)
		if (holder->asks[i].client != client) holder->asks[kept++] = holder->asks[i];
	holder->ask_count = kept;
}

static void probe(struct holder *holder, struct client *client, const uint8_t *payload) {
	if (holder->master < 0) refuse(client, get32(payload), "ended", 0, NULL);
	else if (!watch_ask(holder, client, get32(payload))) refuse(client, get32(payload), "system", EBUSY, NULL);
}

static void watch(struct holder *holder, struct client *client, const uint8_t *payload) {
	client->watching = client->facts_due = get32(payload + 4) != 0;
	client->busy_ms = get32(payload + 8);
	done(client, get32(payload), 0);
	if (client->watching) watch_stir(holder, now_us());
}

static void share(struct holder *holder, struct client *client, const uint8_t *payload) {
	(void)holder; // share_step() looks at it
	client->nice = get32(payload) < SHARE_NICE_MOST ? (int)get32(payload) : SHARE_NICE_MOST;
}

static void secrets(struct holder *holder, struct client *client, const uint8_t *payload) {
	uint32_t request = get32(payload);
	bool kept = mask_add_all(&holder->mask, payload + 8, client->inbox.length - 8);
	inbox_wipe(&client->inbox);
	holder->wipe_scratch = true;
	if (kept) done(client, request, 0);
	else refuse(client, request, "system", EINVAL, NULL);
}

void request_take(struct holder *holder, struct client *client) {
	static const struct {
		void (*take)(struct holder *, struct client *, const uint8_t *);
		bool owner;  // only the owner may
		bool living; // only while the program lives
	} requests[SECRETS + 1] = {
		[ATTACH] = {attach, false, false}, [CREDIT] = {credit, false, false},
		[INPUT] = {type, true, true},      [RESIZE] = {resize, true, true},
		[SIGNAL] = {raise_signal, true, false}, [END] = {end, true, false},
		[FACTS] = {probe, false, false},    [WATCH] = {watch, false, false},
		[SHARE] = {share, false, false},    [SECRETS] = {secrets, true, false},
	};
	enum frame_type type_of = inbox_type(&client->inbox);
	const uint8_t *payload = inbox_payload(&client->inbox);
	if ((type_of == HELLO) == client->greeted) { // first, and once
		refuse(client, 0, "bad_frame", 0, NULL);
		client_leave(client);
	} else if (type_of == HELLO) {
		hello(holder, client, payload);
	} else if (requests[type_of].owner && !client->owner) {
		refuse(client, get32(payload), client->fenced ? "fenced" : "not_owner", 0, NULL);
	} else if (requests[type_of].living && holder->main_exited) {
		refuse(client, get32(payload), "ended", 0, NULL);
	} else {
		requests[type_of].take(holder, client, payload);
	}
}
