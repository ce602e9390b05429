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
#include "controllers.h"
#include "proc.h"

#define CGROUP2 0x63677270 // the file system's magic number

// Found at the first kill of each END: a holder is given its scope after it was started.
static struct {
	bool sought;
	int own, ended; // directories, or -1
	char name[24];  // of the second, in the first
} cgroup = {.own = -1, .ended = -1};

int cgroup_open_below(int directory, const char *name) { return openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

bool cgroup_put(int directory, const char *file, const char *text) {
	int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0) close(fd);
	return done;
}

bool cgroup_path(char path[CGROUP_PATH]) {
	char text[CGROUP_PATH];
	if (proc_text(getpid(), "cgroup", text, sizeof text) <= 0) return false;
	const char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	const char *own = line == NULL ? NULL : strchr(line, '/');
	if (own == NULL) return false;
	snprintf(path, CGROUP_PATH, "%.*s", (int)strcspn(own, "\n"), own);
	return true;
}

int cgroup_open(const char *own) {
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}; // the second beside older hierarchies
	char path[CGROUP_PATH + 32];
	if (own[1] == '\0' || strncmp(own, "/..", 3) == 0) return -1; // the root; outside of our namespace
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		struct statfs system;
		snprintf(path, sizeof path, "%s%s", mounts[i], own);
		int fd = cgroup_open_below(AT_FDCWD, path);
		if (fd >= 0 && fstatfs(fd, &system) == 0 && system.f_type == CGROUP2) return fd;
		if (fd >= 0) close(fd);
	}
	return -1;
}

bool cgroup_is_delegated(int directory) {
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
	char path[CGROUP_PATH];
	cgroup.own = cgroup_path(path) ? cgroup_open(path) : -1;
	if (cgroup.own < 0 || !cgroup_is_delegated(cgroup.own)) return false;
	snprintf(cgroup.name, sizeof cgroup.name, "ended-%d", (int)getpid());
	if (mkdirat(cgroup.own, cgroup.name, 0755) != 0 && errno != EEXIST) return false;
	cgroup.ended = cgroup_open_below(cgroup.own, cgroup.name);
	if (cgroup.ended >= 0 && faccessat(cgroup.ended, "cgroup.kill", W_OK, 0) == 0) return true;
	release(); // Linux before 5.14 cannot kill a cgroup
	return false;
}

void cgroup_kill(const struct member *members, size_t count) {
	if (count == 0 || controllers_kill() || !is_there()) return;
	for (size_t i = 0; i < count; i++) {
		char pid[16];
		snprintf(pid, sizeof pid, "%d", (int)members[i].pid);
		if ((members[i].start == 0 && members[i].unique == 0) || tree_signal(&members[i], 0) == ESRCH || !cgroup_put(cgroup.ended, "cgroup.procs", pid)) continue;
		// If it is gone now, another may have got its pid before the move: that one is not to be killed.
		if (tree_signal(&members[i], 0) == ESRCH) cgroup_put(cgroup.own, "cgroup.procs", pid);
	}
	cgroup_put(cgroup.ended, "cgroup.kill", "1");
}

void cgroup_remove(void) {
	release();
	cgroup.sought = false;
}
