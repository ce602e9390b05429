// Linux: whether a peer is a descendant, by the chain of its parents.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "identity.h"
#include "os.h"
#include "proc.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define TRIES 16        // a parent may end while we go from child to parent; its children then have another one
#define DEPTH_MOST 4096 // of a chain that is read while it changes

enum chain { BELOW, BESIDE, BROKEN };

// hidepid: another user's process, as the owner's login is. A set-uid program in the session is hidden as well, so what it
// starts as this user again passes for a process outside: no worse than any other process of this user.
static bool is_hidden(pid_t pid) { return kill(pid, 0) != 0 && errno == EPERM; }

static enum chain follow(pid_t pid, pid_t root) {
	for (int depth = 0; depth < DEPTH_MOST; depth++) {
		struct process process;
		if (pid == root) return BELOW;
		if (pid <= 1) return BESIDE;
		if (!identity_status(pid, &process)) return is_hidden(pid) ? BESIDE : BROKEN;
		pid = process.parent;
	}
	return BROKEN;
}

// Are the numbers in /proc ours? Not without it, nor with that of another pid namespace; then nothing can be told.
static bool proc_is_ours(void) {
	char self[16];
	ssize_t length = readlink("/proc/self", self, sizeof self - 1);
	if (length <= 0) return false;
	self[length] = '\0';
	return atoi(self) == (int)getpid();
}

// A peer that has ended leaves a number that may be another process's by now.
static bool has_ended(int pidfd) {
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) != 0;
}

bool os_peer_is_below(int socket, pid_t root) {
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return true;
	// 0: of a pid namespace that ours does not see. All below us are in ours, or in one made below it.
	if (peer.pid == 0 || !proc_is_ours()) return false;
	int pidfd = -1;
	size = sizeof pidfd;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) != 0) pidfd = -1; // before Linux 6.5
	enum chain chain = BROKEN;
	for (int i = 0; i < TRIES && chain == BROKEN; i++) chain = follow(peer.pid, root);
	if (pidfd >= 0 && has_ended(pidfd)) chain = BROKEN;
	if (pidfd >= 0) close(pidfd);
	return chain != BESIDE; // who cannot be told from a descendant is taken for one
}
