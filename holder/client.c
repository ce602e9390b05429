// Connections as cursors into the log. Never blocks on a client: a frame is sent as
// far as the socket takes it, the rest is kept, and until that is sent the client
// gets no more output. So one that never reads costs one frame of memory.
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bytes.h"
#include "os.h"

#define HELLO_US 2000000
#define LEAVE_US 1000000

void client_open(struct client *client, int fd) {
	memset(client, 0, sizeof *client);
	client->fd = fd;
	client->leave_by = now_us() + HELLO_US;
}

void client_close(struct client *client) {
	if (client->fd < 0) return;
	close(client->fd);
	client->fd = -1;
	inbox_next(&client->inbox);
	free(client->out);
	client->out = NULL;
	client->out_head = client->out_tail = client->out_capacity = 0;
	client->attached = client->watching = client->owner = client->greeted = false;
}

bool client_is_passing(const struct client *client) { return client->fd >= 0 && (client->leaving || !client->greeted); }

bool client_has_backlog(const struct client *client) { return client->out_tail > client->out_head; }

static void keep(struct client *client, const void *bytes, size_t count) {
	size_t waiting = client->out_tail - client->out_head;
	if (count == 0) return;
	if (waiting + count > BACKLOG_MOST) {
		client_close(client);
		return;
	}
	if (client->out_tail + count > client->out_capacity) {
		if (waiting > 0) memmove(client->out, client->out + client->out_head, waiting);
		client->out_head = 0, client->out_tail = waiting;
		if (waiting + count > client->out_capacity) {
			size_t capacity = client->out_capacity < 1024 ? 1024 : client->out_capacity;
			while (capacity < waiting + count) capacity *= 2;
			uint8_t *out = realloc(client->out, capacity);
			if (out == NULL) {
				client_close(client);
				return;
			}
			client->out = out, client->out_capacity = capacity;
		}
	}
	memcpy(client->out + client->out_tail, bytes, count);
	client->out_tail += count;
}

void client_send(struct client *client, enum frame_type type, const void *head, size_t head_size, const void *body, size_t body_size) {
	if (client->fd < 0 || client->leaving) return;
	uint8_t header[FRAME_HEADER];
	frame_header(header, type, (uint32_t)(head_size + body_size));
	struct iovec parts[3] = {{header, sizeof header}, {(void *)head, head_size}, {(void *)body, body_size}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
	ssize_t sent = 0;
	if (!client_has_backlog(client)) {
		do sent = sendmsg(client->fd, &message, MSG_DONTWAIT);
		while (sent < 0 && errno == EINTR);
		if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) {
			client_close(client);
			return;
		}
		if (sent < 0) sent = 0;
		client->sent += (uint64_t)sent;
	}
	size_t skip = (size_t)sent;
	for (int i = 0; i < 3 && client->fd >= 0; i++) {
		size_t size = parts[i].iov_len, gone = skip < size ? skip : size;
		skip -= gone;
		if (size > gone) keep(client, (const uint8_t *)parts[i].iov_base + gone, size - gone);
	}
}

void client_flush(struct client *client) {
	while (client->fd >= 0 && client_has_backlog(client)) {
		ssize_t sent = send(client->fd, client->out + client->out_head, client->out_tail - client->out_head, MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR) continue;
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) return;
		if (sent < 0) {
			client_close(client);
			return;
		}
		client->out_head += (size_t)sent;
		client->sent += (uint64_t)sent;
	}
	if (client->fd < 0) return;
	free(client->out);
	client->out = NULL;
	client->out_head = client->out_tail = client->out_capacity = 0;
	if (client->leaving) shutdown(client->fd, SHUT_WR);
}

void client_leave(struct client *client) {
	if (client->fd < 0) return;
	client->leaving = true;
	client->leave_by = now_us() + LEAVE_US;
	client->attached = client->watching = client->owner = false;
	client_flush(client);
}

static void send_output(struct client *client, const uint8_t *bytes, size_t count) {
	uint8_t offset[8];
	put64(offset, client->cursor);
	client->cursor += count;
	client_send(client, OUTPUT, offset, sizeof offset, bytes, count);
}

void client_offer(struct client *client, uint64_t offset, const uint8_t *bytes, size_t count) {
	if (client->fd < 0 || !client->attached || client->cursor != offset || client_has_backlog(client)) return;
	if (client->until <= offset) return;
	uint64_t credit = client->until - offset;
	send_output(client, bytes, count < credit ? count : (size_t)credit);
}

bool client_is_behind(const struct client *client, uint64_t logged) {
	return client->fd >= 0 && client->attached && client->cursor < logged && client->cursor < client->until;
}

void client_catch_up(struct client *client, enum log_read found, const uint8_t *bytes, size_t count, uint64_t gap_to) {
	if (found == LOG_BYTES) {
		send_output(client, bytes, count);
	} else if (found == LOG_GAP) {
		uint8_t gap[16];
		put64(gap, client->cursor);
		put64(gap + 8, gap_to);
		client->cursor = gap_to;
		client_send(client, GAP, gap, sizeof gap, NULL, 0);
	}
}
