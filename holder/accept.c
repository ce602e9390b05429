// Who gets a connection: processes of this user (or root) from outside of the
// session. What runs inside is refused before it has said a word, whatever it
// knows: a program must not answer its own questions.
//
// A connection first holds one of WAITING_MOST places, for as long as HELLO may
// take; silent ones crowd out each other, never a client that has said it.
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holder.h"
#include "os.h"

#define ACCEPT_AGAIN_US 100000

// Closes what may not; it takes no place.
static bool may_connect(const struct holder *holder, int fd) {
	uid_t uid;
	struct client stranger;
	client_open(&stranger, fd);
	if (os_peer_uid(fd, &uid) && (uid == geteuid() || uid == 0)) {
		if (!os_peer_is_below(fd, holder->self)) return true;
		refuse(&stranger, 0, "denied", 0, NULL);
	}
	client_close(&stranger);
	return false;
}

// Where the next connection goes: a place that is free, or that of the one that has been waiting longest.
static struct client *place_for_next(struct holder *holder) {
	struct client *free = NULL, *oldest = NULL;
	int waiting = 0;
	for (int i = 0; i < holder->client_places; i++) {
		struct client *client = &holder->clients[i];
		if (client->fd < 0) {
			if (free == NULL) free = client;
		} else if (client_is_passing(client)) {
			waiting++;
			if (oldest == NULL || client->leave_by < oldest->leave_by) oldest = client;
		}
	}
	if (waiting == WAITING_MOST) {
		client_close(oldest);
		return oldest;
	}
	return free != NULL ? free : &holder->clients[holder->client_places++];
}

void accept_clients(struct holder *holder, int64_t now) {
	// No more than wait at a time: each is read from once before others can crowd it out.
	for (int i = 0; i < WAITING_MOST; i++) {
		int fd = accept(holder->listener.fd, NULL, NULL);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
		if (fd < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK) holder->accept_at = now + ACCEPT_AGAIN_US;
			return;
		}
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (!may_connect(holder, fd)) continue;
		struct client *client = place_for_next(holder);
		request_forget(holder, client);
		client_open(client, fd);
	}
}
