// The holder itself: one terminal, one program, its log and its clients.
//
// loop.c is the event loop; request.c answers clients; exit.c handles the end; watch.c
// probes; disk.c reads and writes the session's directory. They share this one record
// because they are one process with one state. It belongs to the thread that runs the loop;
// what is marked so below belongs to work that may be running in another (takeover.h).
#ifndef DIALTONE_HOLDER_H
#define DIALTONE_HOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "attention.h"
#include "client.h"
#include "disk.h"
#include "end.h"
#include "exit-file.h"
#include "input.h"
#include "limits.h"
#include "listener.h"
#include "log.h"
#include "mask.h"
#include "rate.h"
#include "secret.h"
#include "share.h"

#define ENDS_WAITING 16
#define ASKS_WAITING 128

// A program's exit may be written twice: when it has ended, and when nobody has the terminal open any more.
enum exit_kind { EXIT_NONE, EXIT_OPEN, EXIT_CLOSED };

enum terminal_state {
	TERMINAL_OPEN,
	TERMINAL_HUNG,   // no process has it open at the moment; the program may open it again
	TERMINAL_CLOSED, // for good
};

struct holder {
	pid_t self, main_pid;
	int master;
	struct listener listener;
	enum terminal_state terminal;
	char pts[64];
	unsigned cols, rows;
	struct log log;              // the disk's work
	struct exit_file exit_file;  // the disk's work
	struct attention *attention; // the look's work

	int client_places; // places beyond were never used: their pages stay untouched
	uint64_t epoch;
	bool has_secret;
	uint8_t secret[SECRET_BYTES]; // from the launch block; a client without it is refused
	struct {
		struct client *client;
		uint32_t request;
	} ends[ENDS_WAITING];
	int end_count;
	bool answer_ends;
	// FACTS that are not answered yet.
	struct {
		struct client *client;
		uint32_t request;
		int64_t at;
	} asks[ASKS_WAITING];
	int ask_count;

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
	int alarm;              // readable when the wall-clock limit is reached; -1: no limit
	int64_t wall_at;        // … where there are no such descriptors; 0: no limit
	bool ends_with_owner;   // FLAG_ENDS_WITH_OWNER
	int64_t ownerless_at;   // µs: then it ends, unless an owner is back; 0: there is one
	enum exit_kind exit_due;   // to be written, once what came out before exit_size is on disk
	enum exit_kind exit_begun; // … and composed
	uint64_t exit_size;
	unsigned exits;         // how many times the exit was written: 0, 1, 2
	int64_t exit_at;        // when it was last, µs
	bool closed;            // … and it reports that the last writer is gone
	int64_t leave_at;       // after closed
	uint64_t sent;          // to all clients, at the last check
	size_t exit_json_size, exit_next_size;

	// Times, µs, monotonic; 0: never.
	int64_t started_at, output_at, typed_at;
	int64_t master_look_at; // while hung
	struct mask mask;
	int64_t release_at;     // then what may be the beginning of a secret is not held back any longer; 0: nothing is
	bool wipe_scratch;      // a secret was in it
	bool terminal_quiet;    // it held no output when this turn of the loop began
	int64_t accept_at;      // after running out of descriptors
	int64_t catch_up_at;
	int64_t type_at;        // try again to type what is queued …
	int64_t type_pause;     // … and then after twice as long
	int64_t taken_by;       // … or, while lines wait for those before them to be taken, not later than this
	unsigned untaken;       // how many were not in time, in a row
	int reads;              // tells when the program reads, while something is queued; or -1
	bool program_read;      // since something was last written
	struct share share;
	struct limits limits;
	struct rate rate;
	// The schedule of probes while a client watches.
	struct work look;
	bool look_changed;      // the look's work
	int64_t look_spent;     // the look's work: processor time, µs
	bool look_void;         // something was typed or signalled since it began …
	bool look_missed;       // … while it was under way
	int64_t late_at;        // when watchers were last told that a look is late
	int look_step;
	int64_t look_at, looked_at, stirred_at, settle_at;
	int64_t look_cost, look_not_before;
	int64_t pushed_at;
	uint64_t pushed_offset;
	bool pushed_works, news_held;

	// Last, because large: an idle holder touches few of their pages.
	struct disk disk;   // small itself, but for its end
	struct input input; // small itself, but for its end
	struct client clients[PLACES_MOST];
	char exit_json[EXIT_FILE_MAX]; // as it was written
	char exit_next[EXIT_FILE_MAX]; // the disk's work: being written
	uint8_t scratch[OUTPUT_MOST];
};

// loop.c
bool loop_prepare(struct holder *holder); // handles signals from here on
_Noreturn void loop(void); // ends the process when all is over
// Reads what the terminal holds, up to OUTPUT_MOST; disk.c logs it and sends it to clients. True if it is empty now.
bool take_output(struct holder *holder);
// Lets out what was held back because it may be the beginning of a secret.
void release_output(struct holder *holder);

// type.c
void type_queued(struct holder *holder);
// Finds out what the program has read of what was typed, if with `more` to come that matters.
void type_look(struct holder *holder, const struct termios *modes, size_t more);
// The program has read: what is queued may go on.
void type_program_read(struct holder *holder);
// Lines wait until those before them have been taken, or until nobody waits for a line that is shorter.
bool type_waits(const struct holder *holder);
// The program was probed, and that counts. True: something was typed or dropped, so what was seen is of the past.
bool type_seen(struct holder *holder);
// A single priority byte, in front of the queue: see that it takes effect even if the program does not read.
void type_interrupt(struct holder *holder, uint8_t byte, const struct termios *modes);

// accept.c
void accept_clients(struct holder *holder, int64_t now);

// request.c
void request_take(struct holder *holder, struct client *client);
void request_ended(struct holder *holder); // answers the clients that requested the end
void request_forget(struct holder *holder, const struct client *client); // its place is taken by another
void send_event(struct holder *holder, const char *json); // an EVENT to every client
void refuse(struct client *client, uint32_t request, const char *code, int error, const char *extra);

// exit.c
// The main program, or in a sandbox the one that it runs: whoever leads the terminal's session. 0: it has ended.
pid_t life_leader(const struct holder *holder);
void life_reap(struct holder *holder, int64_t now);
void life_step(struct holder *holder, int64_t now);
// Answers those who asked for the end, sends the exit to those who have not had it.
void life_tell(struct holder *holder, int64_t now);
// For disk.c: is it time to write the exit; its text; writing it (0 or an errno), perhaps in another thread; done.
bool life_exit_is_due(const struct holder *holder);
void life_compose_exit(struct holder *holder);
int life_write_exit(struct holder *holder);
void life_exit_written(struct holder *holder, int error);
// When life_step() has to be called next, or -1.
int64_t life_next(const struct holder *holder);
bool life_is_over(const struct holder *holder, int64_t now);

// watch.c
void watch_stir(struct holder *holder, int64_t now); // output came or something was typed
void watch_input(struct holder *holder);             // a client has something typed
// Before something is written to the terminal, and after a signal was sent.
void watch_typing(struct holder *holder, const uint8_t *bytes, size_t count);
void watch_signalled(struct holder *holder);
// False: see work_do().
bool watch_step(struct holder *holder, int64_t now);
int64_t watch_next(const struct holder *holder);
// False: too many wait for an answer already.
bool watch_ask(struct holder *holder, struct client *client, uint32_t request);

#endif
