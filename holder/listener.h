// The socket on which clients find the holder.
#ifndef DIALTONE_LISTENER_H
#define DIALTONE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "takeover.h"

struct listener {
	int fd;
	char path[112];
	int directory; // of the session: while that is there, the path is worth having
	bool due;      // look now
	int64_t looked_at;
	struct work work;
	// The work's own.
	dev_t device;
	ino_t inode;
	int next; // made anew; -1: the old one is where it should be
};

// 0 or an errno; then nothing is left.
int listener_open(struct listener *listener, const char *path, int directory);
// Makes the socket anew when its path is gone or another's. False: see work_do().
bool listener_step(struct listener *listener, int64_t now);
int64_t listener_next(const struct listener *listener);

#endif
