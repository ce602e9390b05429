// What the kernel knows about sockets by their inode: the peer of a local one, and which listen.
//
// All of them are read at once, by NETLINK_SOCK_DIAG, when the first is asked for in a look
// (H6: /proc/net has no index). It answers for the holder's own network namespace;
// of another one, a sandbox's, only which listen is known, from the /proc/PID/net of the process that is asked about first.

#ifndef DIALTONE_SOCKETS_H
#define DIALTONE_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// A new look: what was read before is forgotten.
void sockets_begin(void);

// The inode of the other end of a connected local socket; false when there is none or it is not known.
bool socket_peer(pid_t pid, uint64_t inode, uint64_t *peer);

bool socket_listens(pid_t pid, uint64_t inode);

#endif
