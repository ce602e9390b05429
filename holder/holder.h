// The holder itself: one terminal, one program, its log and its clients.
//
// loop.c is the event loop; request.c answers clients; exit.c handles the end; watch.c
// probes. They share this one record because they are one process with one state.
#ifndef DIALTONE_HOLDER_H
#define DIALTONE_HOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "attention.h"
#include "client.h"
#include "end.h"
#include "exit-file.h"
#include "input.h"
#include "log.h"
#include "secret.h"

#define ENDS_WAITING 16

enum terminal_state {
	TERMINAL_OPEN,
	TERMINAL_HUNG,   // no process has it open at the moment; the program may open it again
	TERMINAL_CLOSED, // for good
};

struct holder {
	pid_t self, main_pid;
	int master, listener;
	enum terminal_state terminal;
	char pts[64];
	char socket[112];
	unsigned cols, rows;
	struct log log;
	struct exit_file exit_file;
	struct attention *attention;

	int client_places; // places beyond were never used: their pages stay untouched
	uint64_t epoch;
	bool has_secret;
	uint8_t secret[SECRET_BYTES]; // from the launch block; a client without it is refused
	struct {
		struct client *client;
		uint32_t request;
	} ends[ENDS_WAITING];
	int end_count;

	// How it ends.
	bool main_exited;
	const char *reason; // as it was when the program ended
	int status;
	struct rusage usage;
	int64_t started_ms, ended_ms;
	int64_t exited_at;      // µs, monotonic
	uint64_t exited_size;   // of the log when the program was reaped
	int64_t closed_at;      // µs: no process has the terminal open any more
	bool drained;           // the terminal was empty once since then
	struct end end;
	int64_t wall_at;        // 0: no limit
	unsigned exits;         // how many times the exit was written: 0, 1, 2
	int64_t exit_at;        // when it was last, µs
	bool closed;            // … and it reports that the last writer is gone
	int64_t leave_at;       // after closed
	uint64_t sent;          // to all clients, at the last check
	size_t exit_json_size;

	// Times, µs, monotonic; 0: never.
	int64_t started_at, output_at, typed_at;
	int64_t master_look_at; // while hung
	int64_t accept_at;      // after running out of descriptors
	int64_t catch_up_at;
	int64_t type_at;        // try again to type what is queued
	bool type_stuck;
	// The schedule of probes while a client watches.
	int look_step;
	int64_t look_at, looked_at, stirred_at;
	int64_t look_cost, look_not_before;
	int64_t pushed_at;
	uint64_t pushed_offset;
	bool pushed_works, news_held;

	// Last, because large: an idle holder touches few of their pages.
	struct input input; // small itself, but for its end
	struct client clients[PLACES_MOST];
	char exit_json[EXIT_FILE_MAX];
	uint8_t batch[OUTPUT_MOST];
	uint8_t scratch[OUTPUT_MOST];
};

// loop.c
bool loop_prepare(void); // handles signals from here on
void loop(struct holder *holder);
// Reads what the terminal holds, in batches: log, then clients. True if it is empty now, and nothing was left behind.
bool take_output(struct holder *holder, int batches);
void type_queued(struct holder *holder);

// accept.c
void accept_clients(struct holder *holder, int64_t now);

// request.c
void request_take(struct holder *holder, struct client *client);
void request_ended(struct holder *holder); // answers the clients that requested the end
void request_forget(struct holder *holder, const struct client *client); // its place is taken by another
void send_event(struct holder *holder, const char *json); // an EVENT to every client
void refuse(struct client *client, uint32_t request, const char *code, int error, const char *extra);

// exit.c
void life_reap(struct holder *holder, int64_t now);
void life_step(struct holder *holder, int64_t now);
// When life_step() has to be called next, or -1.
int64_t life_next(const struct holder *holder);
bool life_is_over(const struct holder *holder, int64_t now);

// watch.c
void watch_stir(struct holder *holder, int64_t now); // output came or something was typed
void watch_step(struct holder *holder, int64_t now);
int64_t watch_next(const struct holder *holder);
void watch_answer(struct holder *holder, struct client *client, uint32_t request);

#endif
