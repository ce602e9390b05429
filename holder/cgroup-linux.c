// Linux: whoever is to be killed is moved into a cgroup below the holder's own, and
// that is killed as a whole. What a moved process starts is born in there, so no fork
// outruns it; and the kernel does not ask whose a process is (su, sudo).
//
// Only where the holder's cgroup is delegated: systemd marks those that it does not
// manage further (each holder's scope), and for others the directory's owner counts.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cgroup.h"
#include "proc.h"

#define CGROUP2 0x63677270 // the file system's magic number

// Found at the first kill of each END: a holder is given its scope after it was started.
static struct {
	bool sought;
	int own, ended; // directories, or -1
	char name[24];  // of the second, in the first
} cgroup = {.own = -1, .ended = -1};

static int open_directory(int at, const char *path) { return openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

static bool put(int directory, const char *file, const char *text) {
	int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0) close(fd);
	return done;
}

// The directory of the holder's cgroup; -1: there is none, or it is the root.
static int open_own(void) {
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}; // the second beside older hierarchies
	char text[4096], path[sizeof text + 32];
	if (proc_text(getpid(), "cgroup", text, sizeof text) <= 0) return -1;
	const char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (line == NULL) return -1;
	const char *own = strchr(line, '/');
	if (own == NULL || own[1] == '\n' || strncmp(own, "/..", 3) == 0) return -1; // the last: outside of our namespace
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		struct statfs system;
		snprintf(path, sizeof path, "%s%.*s", mounts[i], (int)strcspn(own, "\n"), own);
		int fd = open_directory(AT_FDCWD, path);
		if (fd >= 0 && fstatfs(fd, &system) == 0 && system.f_type == CGROUP2) return fd;
		if (fd >= 0) close(fd);
	}
	return -1;
}

static bool is_delegated(int directory) {
	static const char *const marks[] = {"user.delegate", "trusted.delegate"}; // systemd's; older ones have the second
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		char value;
		if (fgetxattr(directory, marks[i], &value, 1) == 1 && value == '1') return true;
	}
	struct stat status;
	return geteuid() != 0 && fstat(directory, &status) == 0 && status.st_uid == geteuid();
}

static void release(void) {
	if (cgroup.ended >= 0) {
		close(cgroup.ended);
		unlinkat(cgroup.own, cgroup.name, AT_REMOVEDIR); // refused while a process is in there that is stuck in the kernel
	}
	if (cgroup.own >= 0) close(cgroup.own);
	cgroup.own = cgroup.ended = -1;
}

static bool is_there(void) {
	if (cgroup.sought) return cgroup.ended >= 0;
	cgroup.sought = true;
	cgroup.own = open_own();
	if (cgroup.own < 0 || !is_delegated(cgroup.own)) return false;
	snprintf(cgroup.name, sizeof cgroup.name, "ended-%d", (int)getpid());
	if (mkdirat(cgroup.own, cgroup.name, 0755) != 0 && errno != EEXIST) return false;
	cgroup.ended = open_directory(cgroup.own, cgroup.name);
	if (cgroup.ended >= 0 && faccessat(cgroup.ended, "cgroup.kill", W_OK, 0) == 0) return true;
	release(); // Linux before 5.14 cannot kill a cgroup
	return false;
}

void cgroup_kill(const struct member *members, size_t count) {
	if (count == 0 || !is_there()) return;
	for (size_t i = 0; i < count; i++) {
		char pid[16];
		snprintf(pid, sizeof pid, "%d", (int)members[i].pid);
		if (members[i].start == 0 || tree_signal(&members[i], 0) == ESRCH || !put(cgroup.ended, "cgroup.procs", pid)) continue;
		// If it is gone now, another may have got its pid before the move: that one is not to be killed.
		if (tree_signal(&members[i], 0) == ESRCH) put(cgroup.own, "cgroup.procs", pid);
	}
	put(cgroup.ended, "cgroup.kill", "1");
}

void cgroup_remove(void) {
	release();
	cgroup.sought = false;
}
