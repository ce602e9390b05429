// Sockets by NETLINK_SOCK_DIAG. See sockets.h.

#include "sockets.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_SOCKETS = 1 << 16,
	ANSWER_BYTES = 32 << 10,
	LISTENING = 10, // TCP_LISTEN, also for local ones
	MAX_LINES = 4096, // of a table that a program may make as long as it likes
	LOCAL_LISTENS = 1 << 16, // __SO_ACCEPTCON
	LEAST_WAIT_MS = 100, // the kernel answers within the call; this is for one that never does
};

struct known_socket {
	uint64_t inode, peer;
	bool listens;
};

static struct {
	struct known_socket *all;
	size_t count, capacity;
	bool read;
} sockets;

void sockets_begin(void) {
	sockets.read = false;
}

static void add_socket(struct known_socket one) {
	if (sockets.count == sockets.capacity) {
		size_t capacity = sockets.capacity == 0 ? 256 : sockets.capacity * 2;
		struct known_socket *grown = capacity > MAX_SOCKETS ? NULL : realloc(sockets.all, capacity * sizeof *grown);
		if (grown == NULL)
			return; // not known, then
		sockets.all = grown;
		sockets.capacity = capacity;
	}
	sockets.all[sockets.count++] = one;
}

static void add_local(const struct nlmsghdr *header) {
	const struct unix_diag_msg *message = NLMSG_DATA(header);
	struct known_socket one = {.inode = message->udiag_ino, .listens = message->udiag_state == LISTENING};
	int left = (int)NLMSG_PAYLOAD(header, sizeof *message);
	for (const struct rtattr *attribute = (const struct rtattr *)(message + 1); RTA_OK(attribute, left);
	     attribute = RTA_NEXT(attribute, left)) {
		uint32_t peer;
		if (attribute->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(attribute) >= sizeof peer) {
			memcpy(&peer, RTA_DATA(attribute), sizeof peer);
			one.peer = peer;
		}
	}
	add_socket(one);
}

static void add_internet(const struct nlmsghdr *header) {
	const struct inet_diag_msg *message = NLMSG_DATA(header);
	add_socket((struct known_socket){.inode = message->idiag_inode, .listens = true});
}

static void ask(int link, const void *question, size_t size, void (*add)(const struct nlmsghdr *)) {
	struct {
		struct nlmsghdr header;
		char body[128];
	} request = {.header = {
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
		.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	}};
	union {
		struct nlmsghdr header;
		char bytes[ANSWER_BYTES];
	} answer;
	memcpy(request.body, question, size);
	if (send(link, &request, request.header.nlmsg_len, 0) < 0)
		return;
	for (;;) {
		ssize_t got = recv(link, &answer, sizeof answer, 0);
		if (got <= 0)
			return;
		size_t left = (size_t)got;
		for (struct nlmsghdr *at = &answer.header; NLMSG_OK(at, left); at = NLMSG_NEXT(at, left)) {
			if (at->nlmsg_type == NLMSG_DONE || at->nlmsg_type == NLMSG_ERROR)
				return;
			if (at->nlmsg_type == SOCK_DIAG_BY_FAMILY)
				add(at);
		}
	}
}

static void ask_kernel(int link) {
	struct timeval wait = {.tv_usec = LEAST_WAIT_MS * 1000};
	setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	struct unix_diag_req local = {.sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_PEER};
	ask(link, &local, sizeof local, add_local);
	static const unsigned char families[] = {AF_INET, AF_INET6};
	for (unsigned i = 0; i < sizeof families; i++) {
		struct inet_diag_req_v2 internet = {
			.sdiag_family = families[i],
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = 1u << LISTENING,
		};
		ask(link, &internet, sizeof internet, add_internet);
	}
	close(link);
}

static int by_inode(const void *a, const void *b) {
	const struct known_socket *one = a, *other = b;
	return one->inode < other->inode ? -1 : one->inode > other->inode;
}

static bool is_in_our_network(pid_t pid) {
	struct stat own, other;
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
	return stat("/proc/self/ns/net", &own) != 0 || stat(path, &other) != 0 || own.st_ino == other.st_ino;
}

// A sandbox has a network of its own, about which netlink tells us nothing.
static void add_listeners_of(pid_t pid) {
	static const struct {
		const char *name, *format; // its state or flags, then its inode
		bool local;
	} tables[] = {
		{"tcp", "%*d: %*s %*s %x %*s %*s %*s %*u %*d %llu", false},
		{"tcp6", "%*d: %*s %*s %x %*s %*s %*s %*u %*d %llu", false},
		{"unix", "%*s %*x %*x %x %*x %*x %llu", true},
	};
	for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
		char path[64], line[512];
		snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, tables[i].name);
		FILE *table = fopen(path, "re");
		if (table == NULL)
			continue;
		for (unsigned lines = 0; lines < MAX_LINES && fgets(line, sizeof line, table) != NULL; lines++) {
			unsigned state;
			unsigned long long inode;
			if (sscanf(line, tables[i].format, &state, &inode) != 2)
				continue; // the heading
			if (tables[i].local ? (state & LOCAL_LISTENS) != 0 : state == LISTENING)
				add_socket((struct known_socket){.inode = inode, .listens = true});
		}
		fclose(table);
	}
}

static void read_all(pid_t pid) {
	sockets.read = true;
	sockets.count = 0;
	if (!is_in_our_network(pid))
		add_listeners_of(pid);
	int link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (link >= 0)
		ask_kernel(link);
	if (sockets.count > 0)
		qsort(sockets.all, sockets.count, sizeof *sockets.all, by_inode);
}

static const struct known_socket *find(pid_t pid, uint64_t inode) {
	if (!sockets.read)
		read_all(pid);
	struct known_socket wanted = {.inode = inode};
	return sockets.count == 0 ? NULL : bsearch(&wanted, sockets.all, sockets.count, sizeof wanted, by_inode);
}

bool socket_peer(pid_t pid, uint64_t inode, uint64_t *peer) {
	const struct known_socket *found = find(pid, inode);
	if (found == NULL || found->peer == 0)
		return false;
	*peer = found->peer;
	return true;
}

bool socket_listens(pid_t pid, uint64_t inode) {
	const struct known_socket *found = find(pid, inode);
	return found != NULL && found->listens;
}
