// The event loop. What comes out goes: terminal → log → clients; what is typed
// goes: client → queue → terminal. Nothing here blocks except poll(): what may
// sleep in a file system is work (disk.c, watch.c), from which another thread takes over.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "holder.h"
#include "os.h"

#define HUNG_LOOK_US 50000   // is the terminal open again? Rare enough to cost nothing, soon enough not to be missed
#define TERM_GRACE_US 2000000
#define LIKELY_US 1000000    // half of a secret is followed by the rest, however slowly it is printed
#define HELD_US 100000       // the two parts of a secret that was split are closer together; a person does not notice it yet

static volatile sig_atomic_t child_died, told_to_end, told_to_listen;
static int wake[2];
static struct holder *held;

static void wake_up(void) {
	ssize_t ignored = write(wake[1], "", 1); // full means that a wake-up is on its way already
	(void)ignored;
}

// Taken only in os_wait(), so it may do what the loop does.
static void on_signal(int signal, siginfo_t *info, void *context) {
	int error = errno;
	(void)context;
	if (signal == SIGCHLD) child_died = 1;
	else if (signal == LEAVE_SIGNAL && limits_any(held)) {} // nothing gets out of its limits by leaving
	else if (signal == LEAVE_SIGNAL) tree_asked(info);
	else if (signal == SIGUSR1) told_to_listen = 1;
	else told_to_end = 1;
	wake_up();
	errno = error;
}

static const int acted_on[] = {SIGCHLD, SIGTERM, SIGUSR1, LEAVE_SIGNAL};

bool loop_prepare(struct holder *holder) {
	held = holder;
	if (pipe(wake) != 0) return false;
	for (int i = 0; i < 2; i++) fcntl(wake[i], F_SETFL, O_NONBLOCK), fcntl(wake[i], F_SETFD, FD_CLOEXEC);
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
	sigemptyset(&action.sa_mask);
	// A machine that shuts down sends TERM: end the session in order, so that its exit is known.
	for (size_t i = 0; i < sizeof acted_on / sizeof *acted_on; i++)
		if (sigaction(acted_on[i], &action, NULL) != 0) return false;
	return true;
}

// A program's last output is not slowed: its end is not told before that has passed.
static bool may_be_slowed(const struct holder *holder) {
	bool ending = holder->end.phase != END_IDLE || (holder->main_exited && holder->exit_due == EXIT_NONE);
	return holder->terminal == TERMINAL_OPEN && !ending;
}

static int64_t slowed_until(const struct holder *holder, int64_t now) {
	return may_be_slowed(holder) ? rate_next(&holder->rate, now) : 0;
}

static void mask_logged(void *context, uint64_t from, uint64_t to) { disk_mask(context, from, to); }

static void take_masked(struct holder *holder, struct piece *piece, size_t count, int64_t now) {
	const struct mask_late late = {mask_logged, holder};
	count = mask_pass(&holder->mask, piece->bytes, count, holder->disk.taken, &late);
	if (count > 0) disk_take(holder, piece, count, now);
	else disk_put_back(holder, piece);
	if (!mask_holds(&holder->mask)) holder->release_at = 0;
	else if (mask_is_likely(&holder->mask)) holder->release_at = now + LIKELY_US;
	else if (holder->release_at == 0) holder->release_at = now + HELD_US;
}

void release_output(struct holder *holder) {
	if (!mask_holds(&holder->mask)) return;
	struct piece *piece = disk_room(holder);
	if (piece == NULL) return; // again when the disk has taken something
	disk_take(holder, piece, mask_release(&holder->mask, piece->bytes), now_us());
	holder->release_at = 0;
}

bool take_output(struct holder *holder) {
	if (holder->terminal == TERMINAL_CLOSED) return true;
	size_t most = may_be_slowed(holder) ? rate_room(&holder->rate, OUTPUT_MOST, now_us()) : OUTPUT_MOST;
	if (most == 0) return false;
	struct piece *piece = disk_room(holder);
	if (piece == NULL) return false;
	// The kernel hands out 4 KB at a time; gathering what is there makes one log write and one frame of many.
	size_t resumed = mask_resume(&holder->mask, piece->bytes), have = resumed;
	bool empty = false;
	most = most + resumed < OUTPUT_MOST ? most + resumed : OUTPUT_MOST;
	while (have < most && !empty) {
		ssize_t got = read(holder->master, piece->bytes + have, most - have);
		if (got > 0) {
			have += (size_t)got;
			holder->terminal = TERMINAL_OPEN;
		} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
			holder->terminal = TERMINAL_HUNG, empty = true; // EIO: no process has the other side open
		} else if (errno == EAGAIN) {
			holder->terminal = TERMINAL_OPEN, empty = true;
		}
	}
	int64_t now = now_us();
	if (have > resumed) {
		take_masked(holder, piece, have, now);
		rate_took(&holder->rate, have - resumed, now);
		holder->output_at = now;
		watch_stir(holder, now);
	} else {
		disk_put_back(holder, piece);
	}
	if (!empty) return false;
	if (holder->main_exited || holder->terminal == TERMINAL_HUNG) release_output(holder);
	if (holder->main_exited) holder->drained = true;
	if (holder->terminal == TERMINAL_HUNG) holder->master_look_at = now + HUNG_LOOK_US;
	return true;
}

static void hear(struct holder *holder, struct client *client) {
	ssize_t got = recv(client->fd, holder->scratch, sizeof holder->scratch, MSG_DONTWAIT);
	if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
	if (got <= 0) {
		client_close(client);
		return;
	}
	for (size_t at = 0; at < (size_t)got && client->fd >= 0 && !client->leaving;) {
		size_t used;
		enum inbox_state state = inbox_feed(&client->inbox, holder->scratch + at, (size_t)got - at, &used);
		at += used;
		if (state == INBOX_BAD) {
			refuse(client, 0, "bad_frame", 0, NULL);
			client_leave(client);
		} else if (state == INBOX_FRAME) {
			request_take(holder, client);
			if (client->fd >= 0) inbox_next(&client->inbox);
		}
	}
	if (holder->wipe_scratch) wipe(holder->scratch, sizeof holder->scratch);
	holder->wipe_scratch = false;
}

static void sooner(int64_t *next, int64_t at) {
	if (at > 0 && (*next < 0 || at < *next)) *next = at;
}

static int64_t next_timer(const struct holder *holder, int64_t now) {
	int64_t next = -1;
	sooner(&next, life_next(holder));
	sooner(&next, watch_next(holder));
	sooner(&next, disk_next(holder));
	sooner(&next, listener_next(&holder->listener));
	sooner(&next, share_next(holder));
	sooner(&next, limits_next(holder));
	if (!disk_is_full(holder)) sooner(&next, holder->release_at);
	sooner(&next, holder->type_at);
	sooner(&next, holder->accept_at);
	sooner(&next, holder->catch_up_at);
	sooner(&next, slowed_until(holder, now));
	if (holder->terminal == TERMINAL_HUNG && !disk_is_full(holder)) sooner(&next, holder->master_look_at);
	for (int i = 0; i < holder->client_places; i++)
		if (client_is_passing(&holder->clients[i])) sooner(&next, holder->clients[i].leave_by);
	return next;
}

enum { WAKE, LISTENER, MASTER, READS, ALARM, LIMITS, CLIENTS = LIMITS + LIMITS_FDS };

// What each descriptor is waited for; how many there are.
static nfds_t gather(const struct holder *holder, struct pollfd *fds, int64_t now) {
	fds[WAKE] = (struct pollfd){.fd = wake[0], .events = POLLIN};
	fds[LISTENER] = (struct pollfd){.fd = holder->accept_at == 0 ? holder->listener.fd : -1, .events = POLLIN};
	// While output waits for the disk, or comes too fast, it stays in the terminal.
	bool read = holder->terminal == TERMINAL_OPEN && !disk_is_full(holder) && slowed_until(holder, now) == 0;
	fds[MASTER] = (struct pollfd){.fd = read ? holder->master : -1, .events = POLLIN};
	fds[READS] = (struct pollfd){.fd = holder->reads, .events = POLLIN};
	fds[ALARM] = (struct pollfd){.fd = holder->alarm, .events = POLLIN}; // life_step() looks at it
	limits_poll(&fds[LIMITS]);
	for (int i = 0; i < holder->client_places; i++) {
		const struct client *client = &holder->clients[i];
		short events = 0;
		if (client->out_tail - client->out_head < BACKLOG_QUIET) events |= POLLIN;
		bool behind = holder->catch_up_at == 0 && !disk_is_busy(holder) && client_is_behind(client, holder->disk.logged);
		if (client->fd >= 0 && (client_has_backlog(client) || behind)) events |= POLLOUT;
		fds[CLIENTS + i] = (struct pollfd){.fd = client->fd, .events = events};
	}
	return (nfds_t)(CLIENTS + holder->client_places);
}

static void serve(struct holder *holder, struct client *client, const struct pollfd *poll) {
	short got = poll->revents;
	if (got & POLLOUT) client_flush(client);
	client->read_due = client->fd >= 0 && (got & POLLOUT) && !client_has_backlog(client);
	if (client->fd >= 0 && (got & (POLLIN | POLLHUP | POLLERR))) {
		if (poll->events & POLLIN) hear(holder, client);
		else if (got & (POLLHUP | POLLERR)) client_close(client);
	}
}

static void serve_clients(struct holder *holder, const struct pollfd *fds, int places, int64_t now) {
	for (int i = 0; i < places; i++) {
		struct client *client = &holder->clients[i];
		const struct pollfd *poll = &fds[CLIENTS + i];
		if (client->fd >= 0 && client->fd == poll->fd && poll->revents != 0) serve(holder, client, poll);
		// After it was heard: if it was we who were held up, its HELLO is there.
		if (client_is_passing(client) && now >= client->leave_by) client_close(client);
	}
}

// Ends the process, whatever its other threads do: closed here, because one that sleeps in a file system keeps what is open.
static _Noreturn void leave(struct holder *holder) {
	close(holder->listener.fd);
	for (int i = 0; i < holder->client_places; i++) client_close(&holder->clients[i]);
	unlink(holder->listener.path);
	secret_remove(holder->log.dir);
	mask_wipe(&holder->mask);
	limits_leave();
	_exit(0);
}

// Returns when another thread has taken over.
static void turn(void) {
	struct holder *holder = held;
	struct pollfd fds[CLIENTS + PLACES_MOST];
	for (bool first = true;; first = false) {
		int64_t now = now_us(), next = first ? now : next_timer(holder, now); // the thread before did not finish its turn
		nfds_t count = gather(holder, fds, now);
		int64_t timeout = child_died || told_to_end || told_to_listen ? 0 : next < 0 ? -1 : next > now ? next - now : 0;
		if (os_wait(fds, count, timeout) < 0)
			for (nfds_t i = 0; i < count; i++) fds[i].revents = 0;
		now = now_us();

		if (fds[WAKE].revents) while (read(wake[0], holder->scratch, 64) > 0) {}
		if (child_died) {
			child_died = 0;
			life_reap(holder, now);
		}
		if (fds[LIMITS].revents || fds[LIMITS + 1].revents) limits_told(holder, now);
		if (told_to_listen) told_to_listen = 0, holder->listener.due = true;
		if (told_to_end) {
			told_to_end = 0;
			end_begin(&holder->end, "end", TERM_GRACE_US, now);
		}
		holder->terminal_quiet = fds[MASTER].fd >= 0 && fds[MASTER].revents == 0;
		if (fds[MASTER].revents) take_output(holder);
		else if (holder->terminal == TERMINAL_HUNG && now >= holder->master_look_at) take_output(holder);

		if (holder->release_at != 0 && now >= holder->release_at) release_output(holder);

		if (holder->catch_up_at != 0 && now >= holder->catch_up_at) holder->catch_up_at = 0;
		if (holder->accept_at != 0 && now >= holder->accept_at) holder->accept_at = 0;
		serve_clients(holder, fds, (int)count - CLIENTS, now);
		if (fds[LISTENER].revents) accept_clients(holder, now);

		if (fds[READS].revents) type_program_read(holder);
		// A program that waits for another line prints something first, as a rule.
		if (fds[MASTER].revents && holder->input.held) holder->type_at = now;
		if (input_queued(&holder->input) > 0 && now >= holder->type_at) type_queued(holder);
		life_step(holder, now_us());
		if (!disk_step(holder, now_us())) return;
		life_tell(holder, now_us());
		if (!watch_step(holder, now_us())) return;
		if (!limits_step(holder, now_us())) return;
		if (life_is_over(holder, now_us())) leave(holder);
		if (!listener_step(&holder->listener, now_us())) return;
	}
}

_Noreturn void loop(void) {
	// Taken only while the loop waits: a signal that falls to a thread asleep in a file system would be lost on the loop.
	sigset_t taken;
	sigemptyset(&taken);
	for (size_t i = 0; i < sizeof acted_on / sizeof *acted_on; i++) sigaddset(&taken, acted_on[i]);
	sigprocmask(SIG_BLOCK, &taken, NULL);
	child_died = 1; // it may have died before we listened
	takeover_run(turn, wake_up);
}
