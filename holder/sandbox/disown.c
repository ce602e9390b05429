// /etc as files of nobody: an ID-mapped mount in which no owner of a file is anybody in the sandbox.
//
// Root owns password hashes and host keys, and an owner needs no capability to read them. Where nobody owns a file, the kernel
// grants what its mode grants everybody, also of files that come later. It takes the machine's root and a file system
// that knows such mounts (Linux 5.12, not overlayfs); where one is missing, private.c covers file by file.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox.h"

// As in linux/mount.h from 5.12 on: the C library's headers may be older. The numbers are the same on all architectures.
enum { NR_OPEN_TREE = 428, NR_MOVE_MOUNT = 429, NR_MOUNT_SETATTR = 442 };
#define TREE_CLONE 1u
#define RECURSIVE 0x8000u
#define FROM_EMPTY_PATH 4u
struct mount_attributes {
	uint64_t set, clear, propagation, namespace;
};
#define ID_MAPPED 0x00100000u

// A mapping has to name somebody, and an unprivileged writer only itself: the caller is whoever has this number on disk.
// Nobody has: it is far from what systems give to users, containers (below 2^31) and strangers (2^32 - 2).
#define NO_OWNER "4294900001 "

static bool write_to(const char *path, const char *text, size_t length) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, length) == (ssize_t)length;
	if (fd >= 0) close(fd);
	return written;
}

static size_t line(char *text, unsigned id) {
	char digits[12];
	size_t length = strlen(NO_OWNER), count = 0;
	memcpy(text, NO_OWNER, length);
	do digits[count++] = (char)('0' + id % 10);
	while ((id /= 10) != 0);
	while (count > 0) text[length++] = digits[--count];
	memcpy(text + length, " 1", 2);
	return length + 2;
}

struct mapping {
	unsigned uid, gid;
	int namespace;
};

// In a user namespace of its own, with our memory and descriptors: what it opens is open here.
static int map(void *argument) {
	struct mapping *mapping = argument;
	char text[64];
	bool mapped = write_to("/proc/self/setgroups", "deny", 4) && write_to("/proc/self/uid_map", text, line(text, mapping->uid)) &&
		write_to("/proc/self/gid_map", text, line(text, mapping->gid));
	if (mapped) mapping->namespace = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	_exit(0);
}

// A descriptor, or -1.
static int mapped_namespace(void) {
	static _Alignas(16) char stack[16384];
	struct mapping mapping = {.uid = geteuid(), .gid = getegid(), .namespace = -1};
	int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | SIGCHLD;
	pid_t pid = clone(map, stack + sizeof stack, flags, &mapping);
	if (pid > 0) waitpid(pid, NULL, 0);
	return mapping.namespace;
}

bool disown(const char *path) {
	// Slaves: what is unmounted outside must not stay mounted here. Nothing of ours goes the other way.
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_SLAVE | MS_REC | MS_SILENT, NULL) != 0) return false;
	// bwrap reads the whole list of mounts for each of its own. Most are in /sys, of which no sandbox gets anything.
	umount2("/sys", MNT_DETACH);
	int namespace = mapped_namespace();
	int tree = namespace < 0 ? -1 : (int)syscall(NR_OPEN_TREE, AT_FDCWD, path, TREE_CLONE | RECURSIVE | O_CLOEXEC);
	struct mount_attributes attributes = {.set = ID_MAPPED, .namespace = (uint64_t)namespace};
	bool done = tree >= 0 && syscall(NR_MOUNT_SETATTR, tree, "", AT_EMPTY_PATH | RECURSIVE, &attributes, sizeof attributes) == 0 &&
		syscall(NR_MOVE_MOUNT, tree, "", AT_FDCWD, path, FROM_EMPTY_PATH) == 0;
	if (tree >= 0) close(tree);
	if (namespace >= 0) close(namespace);
	return done;
}
