// How a session ends. The program's end and the end of its output are two things:
// children in the background may hold the terminal for hours. So the exit is sent
// when the program is gone and the terminal drained, and again when it is closed.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "holder.h"
#include "os.h"
#include "text.h"

#define SETTLE_US 30000      // children that die of the hang-up need a moment; then one exit covers all
#define FLOOD ((uint64_t)1 << 20) // more than the kernel buffers: all that the program itself wrote has passed
#define FAREWELL_US 5000000  // for clients that have not had the exit yet, from the last byte they took
#define FAREWELL_MOST_US 300000000
#define ATTACH_US 1000000    // … and that have not yet sent where they want to read from
#define WALL_GRACE_US 2000000
#define OWNERLESS_US 5000000 // an owner whose connection broke is back in milliseconds

static int exit_code(const struct holder *holder) {
	return WIFEXITED(holder->status) ? WEXITSTATUS(holder->status) : 128 + WTERMSIG(holder->status);
}

// `null` or the number, for code and signal: exactly one of the two is set.
static void add_status(struct text *text, const struct holder *holder) {
	if (WIFEXITED(holder->status)) text_add(text, "\"code\":%d,\"signal\":null", WEXITSTATUS(holder->status));
	else text_add(text, "\"code\":null,\"signal\":%d", WTERMSIG(holder->status));
}

pid_t life_leader(const struct holder *holder) {
	pid_t leader = holder->main_exited || holder->master < 0 ? -1 : os_session_of(holder->master);
	return leader > 0 ? leader : holder->main_exited ? 0 : holder->main_pid;
}

void life_reap(struct holder *holder, int64_t now) {
	for (;;) {
		int status;
		struct rusage usage;
		pid_t pid = wait4(-1, &status, WNOHANG, &usage);
		if (pid < 0 && errno == EINTR) continue;
		if (pid <= 0) break;
		if (pid != holder->main_pid || holder->main_exited) continue;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) limits_told(holder, now); // it may have been the kernel
		holder->main_exited = true;
		holder->status = status, holder->usage = usage;
		holder->ended_ms = wall_ms(), holder->exited_at = now;
		holder->exited_size = holder->disk.taken;
		holder->reason = holder->end.reason;
		char json[96];
		struct text text = text_in(json, sizeof json);
		text_add(&text, "{\"event\":\"main_exited\",");
		add_status(&text, holder);
		text_add(&text, "}");
		send_event(holder, json);
	}
	if (holder->end.phase == END_ASKING || holder->end.phase == END_KILLING) holder->end.look_at = now;
}

static void add_members(struct text *text, const char *name, const struct member *members, size_t count) {
	text_add(text, "\"%s\":[", name);
	for (size_t i = 0; i < count; i++) {
		text_add(text, "%s{\"pid\":%d,\"command\":", i > 0 ? "," : "", (int)members[i].pid);
		text_json(text, members[i].command);
		if (members[i].start != 0) text_add(text, ",\"born\":\"%llu\"", members[i].start);
		text_add(text, "}");
	}
	text_add(text, "]");
}

static void add_survivors(struct text *text, const struct holder *holder) {
	struct member members[SURVIVORS_REPORTED + 1];
	bool complete;
	size_t count = end_who(holder->self, holder->main_exited ? 0 : holder->main_pid, members, &complete);
	if (count > SURVIVORS_REPORTED) count = SURVIVORS_REPORTED;
	// Some are alive, but /proc does not show them.
	if (!complete) members[count++] = (struct member){.pid = 0, .command = "unknown"};
	add_members(text, "survivors", members, count);
}

#define RELEASED_REPORTED 8 // the file has a limit

static void add_released(struct text *text) {
	struct member members[RELEASED_REPORTED];
	size_t count = tree_released(members, RELEASED_REPORTED);
	if (count == 0) return;
	text_add(text, ",");
	add_members(text, "released", members, count);
}

static int64_t milliseconds(struct timeval time) { return (int64_t)time.tv_sec * 1000 + time.tv_usec / 1000; }

static void want_exit(struct holder *holder, enum exit_kind kind) {
	holder->exit_due = kind;
	holder->exit_size = holder->disk.taken;
}

bool life_exit_is_due(const struct holder *holder) {
	const struct piece *first = holder->disk.first;
	return holder->exit_due > holder->exit_begun && (first == NULL || first->offset >= holder->exit_size);
}

void life_compose_exit(struct holder *holder) {
	bool closed = holder->exit_due == EXIT_CLOSED;
	holder->exit_begun = holder->exit_due;
	struct text text = text_in(holder->exit_next, sizeof holder->exit_next);
	text_add(&text, "{");
	add_status(&text, holder);
	text_add(&text, ",\"core\":%s,\"size\":%" PRIu64 ",\"startedAt\":%" PRId64 ",\"endedAt\":%" PRId64 ",\"closed\":%s,\"reason\":\"%s\",",
	         WIFSIGNALED(holder->status) && WCOREDUMP(holder->status) ? "true" : "false", holder->exit_size, holder->started_ms,
	         holder->ended_ms, closed ? "true" : "false", holder->reason);
#ifdef __APPLE__
	long rss_kb = holder->usage.ru_maxrss / 1024;
#else
	long rss_kb = holder->usage.ru_maxrss;
#endif
	text_add(&text, "\"rusage\":{\"userMs\":%" PRId64 ",\"systemMs\":%" PRId64 ",\"maxRssKb\":%ld},", milliseconds(holder->usage.ru_utime),
	         milliseconds(holder->usage.ru_stime), rss_kb);
	add_survivors(&text, holder);
	add_released(&text);
	text_add(&text, ",\"lost\":%" PRIu64 "}", holder->disk.lost);
	holder->exit_next_size = text.used;
}

int life_write_exit(struct holder *holder) {
	bool closed = holder->exit_begun == EXIT_CLOSED;
	if (closed) log_ended(&holder->log, exit_code(holder), now_us());
	int error = exit_file_write(&holder->exit_file, holder->exit_next, holder->exit_next_size);
	if (closed) exit_file_release(&holder->exit_file);
	return error;
}

void life_exit_written(struct holder *holder, int error) {
	memcpy(holder->exit_json, holder->exit_next, holder->exit_next_size + 1);
	holder->exit_json_size = holder->exit_next_size;
	holder->exits++;
	holder->exit_at = now_us();
	holder->closed = holder->exit_begun == EXIT_CLOSED;
	if (holder->closed) holder->leave_at = holder->exit_at + FAREWELL_US;
	if (error == 0) return;
	char json[64];
	snprintf(json, sizeof json, "{\"event\":\"exit_not_saved\",\"errno\":%d}", error);
	send_event(holder, json);
}

static void hang_up(struct holder *holder) {
	if (holder->master >= 0) close(holder->master);
	holder->master = -1;
	holder->terminal = TERMINAL_CLOSED;
}

static bool has_owner(const struct holder *holder) {
	for (int i = 0; i < holder->client_places; i++)
		if (holder->clients[i].fd >= 0 && holder->clients[i].owner && !holder->clients[i].leaving) return true;
	return false;
}

// One that nobody could find again ends with the process that started it.
static void step_owner(struct holder *holder, int64_t now) {
	if (!holder->ends_with_owner || has_owner(holder)) holder->ownerless_at = 0;
	else if (holder->ownerless_at == 0) holder->ownerless_at = now + OWNERLESS_US;
	else if (now >= holder->ownerless_at && holder->end.phase == END_IDLE) {
		holder->ends_with_owner = false, holder->ownerless_at = 0;
		end_begin(&holder->end, "end", WALL_GRACE_US, now);
	}
}

static void step_wall(struct holder *holder, int64_t now) {
	struct pollfd alarm = {.fd = holder->alarm, .events = POLLIN};
	if ((holder->wall_at > 0 && now >= holder->wall_at) || (holder->alarm >= 0 && poll(&alarm, 1, 0) == 1)) {
		if (holder->alarm >= 0) close(holder->alarm);
		holder->alarm = -1, holder->wall_at = 0;
		send_event(holder, "{\"event\":\"ending\",\"reason\":\"wall_clock\"}"); // what ends first may be reported before the main program has
		end_begin(&holder->end, "wall_clock", WALL_GRACE_US, now);
	}
}

static void step_end(struct holder *holder, int64_t now) {
	struct end *end = &holder->end;
	if (end->phase == END_IDLE || end->phase == END_OVER || now < end->look_at) return;
	bool over = end_step(end, now, holder->self, life_leader(holder));
	life_reap(holder, now);
	if (end->hang_up && holder->terminal != TERMINAL_CLOSED) {
		for (int batch = 0; batch < 16 && !take_output(holder); batch++) {}
		hang_up(holder);
	}
	if (!over) return;
	if (end->survivors > 0) {
		char json[EXIT_FILE_MAX];
		struct text text = text_in(json, sizeof json);
		text_add(&text, "{\"event\":\"survivors\",");
		add_survivors(&text, holder);
		text_add(&text, "}");
		send_event(holder, json);
	}
	holder->answer_ends = true;
}

static bool is_ending(const struct holder *holder) {
	return holder->end.phase == END_ASKING || holder->end.phase == END_KILLING;
}

// A process closes the terminal a moment before it is dead: without this it would be reported as a survivor.
static bool nobody_is_dying(const struct holder *holder, int64_t now) {
	struct member members[SURVIVORS_REPORTED];
	bool complete;
	return now - holder->closed_at >= SETTLE_US || (end_who(holder->self, 0, members, &complete) == 0 && complete);
}

static void step_exit(struct holder *holder, int64_t now) {
	if (!holder->main_exited || holder->exit_due == EXIT_CLOSED) return;
	// Read once more after the program was reaped: only now is an error on the terminal its end.
	bool empty = take_output(holder);
	if (empty && holder->terminal == TERMINAL_HUNG) hang_up(holder);
	// A process outside the tree may hold the terminal (passed over a socket): the session has ended anyway.
	if (empty && holder->end.phase == END_OVER && holder->end.survivors == 0) hang_up(holder);
	if (holder->terminal == TERMINAL_CLOSED && holder->closed_at == 0) holder->closed_at = now;
	if (holder->terminal == TERMINAL_CLOSED && !is_ending(holder) && nobody_is_dying(holder, now)) {
		want_exit(holder, EXIT_CLOSED);
		return;
	}
	if (holder->closed_at > 0 && !is_ending(holder)) return; // the complete one follows at once
	bool all_passed = holder->drained || holder->disk.taken - holder->exited_size > FLOOD;
	// Who survives is known when the killing is over: the kernel may take its time with one that is dead.
	if (holder->exit_due == EXIT_NONE && all_passed && holder->end.phase != END_KILLING && now - holder->exited_at >= SETTLE_US) want_exit(holder, EXIT_OPEN);
}

// A client that has just connected gets a moment to send where it wants to read from: its EXIT comes after that.
static bool may_still_attach(const struct holder *holder, const struct client *client, int64_t now) {
	return !client->attached && now < holder->exit_at + ATTACH_US;
}

// EXIT goes to clients that have had the last byte, or want none.
static void tell_exit(struct holder *holder, int64_t now) {
	for (int i = 0; i < holder->client_places; i++) {
		struct client *client = &holder->clients[i];
		if (client->fd < 0 || !client->greeted || client->leaving || client->exit_told == holder->exits) continue;
		if (may_still_attach(holder, client, now) || (client->attached && client->cursor < holder->disk.logged)) continue;
		client->exit_told = holder->exits;
		client_send(client, EXIT, holder->exit_json, holder->exit_json_size, NULL, 0);
	}
}

// A slow client is served as long as it reads; one that does not is not waited for.
static void put_off_leaving(struct holder *holder, int64_t now) {
	uint64_t sent = 0;
	for (int i = 0; i < holder->client_places; i++)
		if (holder->clients[i].fd >= 0) sent += holder->clients[i].sent;
	if (sent != holder->sent) holder->leave_at = now + FAREWELL_US;
	if (holder->leave_at > holder->exit_at + FAREWELL_MOST_US) holder->leave_at = holder->exit_at + FAREWELL_MOST_US;
	holder->sent = sent;
}

void life_step(struct holder *holder, int64_t now) {
	step_owner(holder, now);
	step_wall(holder, now);
	share_step(holder, now); // before anybody is asked to end
	step_end(holder, now);
	step_exit(holder, now);
}

void life_tell(struct holder *holder, int64_t now) {
	// After what came out and the exit are on disk, if it answers.
	if (holder->answer_ends && (holder->disk.told || disk_next(holder) < 0)) {
		holder->answer_ends = false;
		request_ended(holder);
	}
	if (holder->exits > 0) tell_exit(holder, now);
	if (holder->closed) put_off_leaving(holder, now);
}

static void sooner(int64_t *next, int64_t at) {
	if (*next < 0 || at < *next) *next = at;
}

int64_t life_next(const struct holder *holder) {
	int64_t next = -1;
	if (holder->wall_at > 0) sooner(&next, holder->wall_at);
	if (holder->ownerless_at > 0) sooner(&next, holder->ownerless_at);
	else if (holder->ends_with_owner && !has_owner(holder)) sooner(&next, 1); // its connection broke while it was sent something
	if (is_ending(holder)) sooner(&next, holder->end.look_at);
	if (holder->closed) sooner(&next, holder->leave_at);
	else if (holder->exit_due == EXIT_CLOSED) {} // the disk is next
	else if (holder->closed_at > 0 && !is_ending(holder)) sooner(&next, holder->closed_at + SETTLE_US);
	else if (holder->main_exited && holder->exit_due == EXIT_NONE && holder->end.phase != END_KILLING && !disk_is_full(holder)) sooner(&next, holder->exited_at + SETTLE_US);
	for (int i = 0; i < holder->client_places && holder->exits > 0; i++) {
		const struct client *client = &holder->clients[i];
		bool waiting = client->fd >= 0 && !client->leaving && !client->attached && client->exit_told < holder->exits;
		if (waiting && (client->greeted || holder->closed)) sooner(&next, holder->exit_at + ATTACH_US);
	}
	return next;
}

bool life_is_over(const struct holder *holder, int64_t now) {
	if (!holder->closed) return false;
	if (now >= holder->leave_at) return true;
	for (int i = 0; i < holder->client_places; i++) {
		const struct client *client = &holder->clients[i];
		if (client->fd < 0 || client->leaving) continue;
		if (may_still_attach(holder, client, now) && client->exit_told < holder->exits) return false;
		if (client->greeted && (client->exit_told < holder->exits || client_has_backlog(client))) return false;
	}
	return holder->end_count == 0;
}
