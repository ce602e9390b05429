// From the queue to the terminal, at the pace at which the program reads.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "holder.h"
#include "os.h"

// What is written passes through a kernel worker: after this long it has arrived, also on a busy machine.
#define SETTLED_US 10000
// No event tells that the mode has changed, or that unread input was flushed.
#define PAUSE_LEAST_US SETTLED_US
#define PAUSE_MOST_US 320000
// Before the rest of the loop has its turn.
#define WRITES_AT_ONCE 64
// When a read has left no more than this in the terminal, Linux wakes those who write to it.
#define WAKE_LEFT 128
// A line that has not been taken after so long is not waited for: it may be typed ahead. Half as long for each that follows.
#define TAKEN_MOST_US 1200000
#define TAKEN_UNSEEN_US 60000 // … where it cannot be seen whether somebody reads
#define UNCOUNTED ((int)INPUT_FLIGHT + 1)

// Half of the queue, or what was refused if that is more: earlier it would only be refused again.
static void tell_room(struct holder *holder) {
	size_t room = INPUT_QUEUE - input_queued(&holder->input);
	for (int i = 0; i < holder->client_places && room >= INPUT_QUEUE / 2; i++) {
		struct client *client = &holder->clients[i];
		if (client->fd < 0 || client->wants_room == 0 || room < client->wants_room) continue;
		char json[64];
		int length = snprintf(json, sizeof json, "{\"event\":\"input_room\",\"free\":%zu}", room);
		client->wants_room = 0;
		client_send(client, EVENT, json, (size_t)length, NULL, 0);
	}
}

// How much the program could read now; -1: not known.
static int unread(int slave) {
	int count = -1;
	struct pollfd arrived = {.fd = slave, .events = POLLIN}; // moves along what is still in the kernel's worker
	if (slave < 0 || poll(&arrived, 1, 0) < 0 || ioctl(slave, FIONREAD, &count) != 0) return -1;
	// An end of file is not counted, but there to be read: as many as can be, perhaps.
	return count == 0 && (arrived.revents & POLLIN) ? UNCOUNTED : count;
}

void type_look(struct holder *holder, const struct termios *modes, size_t more) {
	bool settled = now_us() - holder->typed_at >= SETTLED_US;
	if (settled) input_settled(&holder->input, modes);
	if (!input_is_tight(&holder->input, more)) return;
	// Open only for a moment: while we hold it the master would not report that the last program is gone.
	int slave = holder->master >= 0 ? os_open_slave(holder->master, holder->pts, true) : -1;
	int left = unread(slave);
	if (slave >= 0) close(slave);
	// In canonical mode an unfinished line is not counted: the count is no good if the mode has just changed.
	struct termios after;
	if (holder->master < 0 || tcgetattr(holder->master, &after) != 0 || ((after.c_lflag ^ modes->c_lflag) & ICANON)) return;
	// Not known: the event tells, but it may have come together with the one of our own writing. Then time has to do.
	if (left < 0 && settled && (holder->program_read || holder->type_pause == PAUSE_MOST_US)) left = WAKE_LEFT;
	// None left is exact. Otherwise more may be on its way through the worker, which nobody counts.
	if (left == 0 || (left > 0 && settled)) input_read(&holder->input, modes, (size_t)left);
}

void type_program_read(struct holder *holder) {
	os_reads_taken(holder->reads);
	holder->program_read = true;
	holder->type_at = 0;
}

static void tell_held(struct holder *holder) {
	char json[96];
	snprintf(json, sizeof json, "{\"event\":\"input_held\",\"bytes\":%zu,\"limit\":%zu}", input_queued(&holder->input), LINE_MOST);
	send_event(holder, json);
}

// As much as may be written now; how many writes it took.
static int write_out(struct holder *holder) {
	struct input *input = &holder->input;
	int writes = 0;
	while (holder->terminal == TERMINAL_OPEN && input_queued(input) > 0 && writes < WRITES_AT_ONCE) {
		struct termios modes;
		const uint8_t *bytes;
		if (tcgetattr(holder->master, &modes) != 0) break;
		if (input_is_tight(input, 0)) type_look(holder, &modes, 0);
		size_t count = input_next(input, &modes, &bytes);
		if (count == 0) break;
		watch_typing(holder, bytes, count);
		ssize_t put = write(holder->master, bytes, count);
		if (put < 0 && errno == EINTR) continue;
		if (put <= 0) break;
		input_written(input, (size_t)put);
		writes++;
		holder->typed_at = now_us();
		holder->type_pause = 0;
		if (holder->reads >= 0) os_reads_taken(holder->reads); // writing wakes us, too
		holder->program_read = false;
		holder->taken_by = holder->typed_at + (TAKEN_MOST_US >> holder->untaken);
		watch_stir(holder, holder->typed_at);
	}
	return writes;
}

// When to go on.
static void plan_rest(struct holder *holder, int writes, bool was_held) {
	struct input *input = &holder->input;
	if (input_queued(input) > 0 && input->pace.paused) {
		// Not by its reads: of a line editor there is one for each byte.
		if (holder->reads >= 0) close(holder->reads);
		holder->reads = -1;
		holder->type_at = holder->taken_by;
	} else if (input_queued(input) > 0) {
		if (holder->reads < 0) holder->reads = os_watch_reads(holder->master);
		holder->type_pause = holder->type_pause == 0 ? PAUSE_LEAST_US : holder->type_pause * 2;
		if (holder->type_pause > PAUSE_MOST_US) holder->type_pause = PAUSE_MOST_US;
		holder->type_at = now_us() + (writes < WRITES_AT_ONCE ? holder->type_pause : 0);
		if (input->held && !was_held) tell_held(holder);
	} else {
		if (holder->reads >= 0) close(holder->reads);
		holder->reads = -1;
		holder->type_at = 0;
		holder->untaken = 0;
	}
	tell_room(holder);
}

bool type_waits(const struct holder *holder) {
	return input_queued(&holder->input) > 0 && (holder->input.pace.paused || holder->input.held);
}

static void tell_refused(struct holder *holder, const struct termios *modes) {
	char json[144];
	uint64_t typed;
	size_t line, bytes = input_refuse(&holder->input, modes, &typed, &line);
	if (bytes == 0) return;
	snprintf(json, sizeof json, "{\"event\":\"input_refused\",\"typed\":%" PRIu64 ",\"bytes\":%zu,\"line\":%zu,\"limit\":%zu}", typed, bytes,
	         line, LINE_MOST);
	send_event(holder, json);
	watch_stir(holder, now_us());
}

bool type_seen(struct holder *holder) {
	struct input *input = &holder->input;
	struct termios modes;
	struct take take;
	if (!type_waits(holder) || tcgetattr(holder->master, &modes) != 0) return false;
	enum taking taking = attention_takes(holder->attention, &take);
	int64_t unseen_by = holder->typed_at + (TAKEN_UNSEEN_US >> holder->untaken);
	if (taking == TAKING_UNSEEN && input->pace.paused && unseen_by < holder->taken_by) holder->type_at = holder->taken_by = unseen_by;
	if (taking != TAKING_DONE) return false;
	size_t before = input_queued(input);
	if (input->pace.paused) input_taken(input, &take, &modes);
	holder->untaken = 0;
	bool was_held = input->held;
	watch_input(holder);
	int writes = write_out(holder);
	if (input->held) tell_refused(holder, &modes);
	plan_rest(holder, writes, was_held);
	return input_queued(input) != before;
}

void type_queued(struct holder *holder) {
	struct input *input = &holder->input;
	if (input->pace.paused && now_us() >= holder->taken_by) {
		input_taken(input, NULL, NULL);
		if (holder->untaken < 30) holder->untaken++;
	}
	bool was_held = input->held;
	plan_rest(holder, write_out(holder), was_held);
}

// INT, QUIT or TSTP if this byte means it to the terminal as it is set now, else 0.
static int signal_of(uint8_t byte, const struct termios *modes) {
	static const struct {
		int character, signal;
	} table[] = {{VINTR, SIGINT}, {VQUIT, SIGQUIT}, {VSUSP, SIGTSTP}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (modes->c_cc[table[i].character] != _POSIX_VDISABLE && modes->c_cc[table[i].character] == byte) return table[i].signal;
	return 0;
}

// Ctrl+C queued behind unread input would wait with it. Does what the kernel does when the byte gets through:
// drop the input, start the output again, echo, raise the signal. If nothing is stuck the byte itself is right, and stays queued.
void type_interrupt(struct holder *holder, uint8_t byte, const struct termios *modes) {
	int signal = modes->c_lflag & ISIG ? signal_of(byte, modes) : 0;
	if (signal == 0) return;
	int slave = os_open_slave(holder->master, holder->pts, true), left = unread(slave);
	size_t queued = input_queued(&holder->input) - 1; // without this byte
	bool stuck = queued > 0 || left != 0; // also if it is not known
	if (stuck) {
		input_drop(&holder->input, slave >= 0);
		tcflush(holder->master, TCOFLUSH); // what is on its way …
		if (slave >= 0) {
			tcflush(slave, TCIFLUSH); // … and what has arrived
			if (modes->c_iflag & IXON) tcflow(slave, TCOON);
			char echo[2] = {'^', (char)(byte ^ 0x40)};
			bool visible = (modes->c_lflag & ECHO) && (modes->c_lflag & ECHOCTL) && byte < 0x20;
			struct pollfd room = {.fd = slave, .events = POLLOUT};
			ssize_t ignored = visible && poll(&room, 1, 0) > 0 ? write(slave, echo, sizeof echo) : 0;
			(void)ignored;
		}
		os_terminal_signal(holder->master, signal);
	}
	if (slave >= 0) close(slave);
	size_t dropped = queued + (left > 0 && left != UNCOUNTED ? (size_t)left : 0);
	if (!stuck || dropped == 0) return;
	char json[80];
	snprintf(json, sizeof json, "{\"event\":\"input_dropped\",\"bytes\":%zu}", dropped);
	send_event(holder, json);
}
