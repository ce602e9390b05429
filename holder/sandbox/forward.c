// The way to the allow-list's proxy: TCP within the sandbox's network of its own, a unix socket outside of it.
//
// A thread of process 1, so that it needs no place in the list of the sandbox's processes. Each connection is two
// descriptors and a buffer each way. When the proxy is away a connection is closed at once.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sandbox.h"

enum { CONNECTIONS_MOST = 128, BUFFER = 16384 };

struct flow {
	char bytes[BUFFER];
	size_t from, to;
	bool ended; // no more will come
	bool told;  // … and the other side knows
};

// flows[i] goes from fds[i] to fds[1 - i].
struct connection {
	int fds[2];
	struct flow flows[2];
};

static struct connection connections[CONNECTIONS_MOST];
static int connection_count, listener = -1;
static struct sockaddr_un proxy = {.sun_family = AF_UNIX};

static bool is_empty(const struct flow *flow) { return flow->from == flow->to; }

static void add(int client) {
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool connected = server >= 0 && connect(server, (struct sockaddr *)&proxy, sizeof proxy) == 0;
	if (!connected) {
		if (server >= 0) close(server);
		close(client);
		return;
	}
	struct connection *connection = &connections[connection_count++];
	connection->fds[0] = client, connection->fds[1] = server;
	for (int i = 0; i < 2; i++) {
		struct flow *flow = &connection->flows[i];
		flow->from = flow->to = 0, flow->ended = flow->told = false;
	}
}

static short wanted(const struct connection *connection, int side) {
	const struct flow *out = &connection->flows[side], *in = &connection->flows[1 - side];
	return (short)((!out->ended && is_empty(out) ? POLLIN : 0) | (!is_empty(in) ? POLLOUT : 0));
}

// False: the connection is over.
static bool move(struct connection *connection, int side, short ready) {
	struct flow *out = &connection->flows[side], *in = &connection->flows[1 - side];
	if ((ready & POLLOUT) != 0 && !is_empty(in)) {
		ssize_t sent = send(connection->fds[side], in->bytes + in->from, in->to - in->from, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
		if (sent > 0) in->from += (size_t)sent;
	}
	if ((ready & (POLLIN | POLLHUP)) != 0 && !out->ended && is_empty(out)) {
		ssize_t got = recv(connection->fds[side], out->bytes, sizeof out->bytes, MSG_DONTWAIT);
		if (got < 0 && errno != EAGAIN && errno != EINTR) return false;
		if (got >= 0) out->from = 0, out->to = (size_t)got, out->ended = got == 0;
	}
	for (int i = 0; i < 2; i++) {
		struct flow *flow = &connection->flows[i];
		if (!flow->ended || !is_empty(flow) || flow->told) continue;
		shutdown(connection->fds[1 - i], SHUT_WR);
		flow->told = true;
	}
	return (ready & (POLLERR | POLLNVAL)) == 0 && !(connection->flows[0].told && connection->flows[1].told);
}

static void drop(int which) {
	close(connections[which].fds[0]);
	close(connections[which].fds[1]);
	connections[which] = connections[--connection_count];
}

static _Noreturn void forward_all(void) {
	struct pollfd fds[1 + 2 * CONNECTIONS_MOST];
	for (;;) {
		int count = connection_count;
		fds[0] = (struct pollfd){.fd = count < CONNECTIONS_MOST ? listener : -1, .events = POLLIN};
		for (int i = 0; i < count; i++)
			for (int side = 0; side < 2; side++) {
				short events = wanted(&connections[i], side);
				// One that has hung up would wake us for ever.
				fds[1 + 2 * i + side] = (struct pollfd){.fd = events != 0 ? connections[i].fds[side] : -1, .events = events};
			}
		if (poll(fds, 1 + 2 * (nfds_t)count, -1) < 0) continue;
		for (int i = count; i-- > 0;)
			if (!move(&connections[i], 0, fds[1 + 2 * i].revents) || !move(&connections[i], 1, fds[2 + 2 * i].revents)) drop(i);
		if (fds[0].revents == 0) continue;
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0) add(client);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) poll(NULL, 0, 50); // others have to close some first
	}
}

static void *forward(void *unused) {
	(void)unused;
	forward_all();
}

int forward_start(int port, const char *path) {
	pthread_t thread;
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (strlen(path) >= sizeof proxy.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(proxy.sun_path, path);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 64) != 0) return -1;
	errno = pthread_create(&thread, NULL, forward, NULL);
	return errno == 0 ? 0 : -1;
}
