// What a process has in common with others: memory, descriptors, mounts. See proc.h.

#include "proc.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef TIOCGDEV
#define TIOCGDEV _IOR('T', 0x32, unsigned int)
#endif

// As in linux/fs.h of 6.11: one mapping by its address, instead of all of them as text.
struct mapping_query {
	uint64_t size, flags, address;
	uint64_t start, end, mapping_flags, page_size, offset, inode;
	uint32_t device_major, device_minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define QUERY_MAPPING _IOWR('f', 17, struct mapping_query)
enum { MAPPING_SHARED = 8 };

static bool is_shared_by_text(FILE *maps, uint64_t address) {
	char line[512];
	while (fgets(line, sizeof line, maps) != NULL) {
		unsigned long long start, end;
		char modes[5];
		if (sscanf(line, "%llx-%llx %4s", &start, &end, modes) == 3 && address >= start && address < end)
			return modes[3] != 'p';
	}
	return true;
}

bool proc_is_shared(const struct process *process, uint64_t address) {
	enum { PAGE = 4096 };
	// Reading all mappings takes long, and a process that has not run has not made others.
	static struct {
		pid_t pid;
		uint64_t ran, page;
		bool shared;
	} last;
	if (process->ran != 0 && last.pid == process->pid && last.ran == process->ran && last.page == address / PAGE)
		return last.shared;
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)process->pid);
	FILE *maps = fopen(path, "re");
	if (maps == NULL)
		return true;
	struct mapping_query query = {.size = sizeof query, .address = address};
	bool shared = ioctl(fileno(maps), QUERY_MAPPING, &query) == 0 ? (query.mapping_flags & MAPPING_SHARED) != 0
	                                                              : is_shared_by_text(maps, address);
	fclose(maps);
	last.pid = process->pid;
	last.ran = process->ran;
	last.page = address / PAGE;
	last.shared = shared;
	return shared;
}

enum shared proc_share(pid_t one, pid_t other) {
	long memory = syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0), files = syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0);
	if (memory == 0 || files == 0)
		return SHARED;
	return memory < 0 || files < 0 ? SHARED_UNKNOWN : SHARED_NOT;
}

bool proc_numbers_like_us(pid_t pid) {
	char path[32];
	struct stat ours, its;
	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	return stat("/proc/self/ns/pid", &ours) == 0 && stat(path, &its) == 0 && ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

bool proc_has_our_mounts(pid_t pid) {
	char path[32];
	struct stat ours, its;
	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	return stat("/proc/self/ns/mnt", &ours) == 0 && stat(path, &its) == 0 && ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

bool proc_has_timers(pid_t pid) {
	char text[64];
	return proc_text(pid, "timers", text, sizeof text) != 0; // also where it cannot be read
}

bool proc_terminal_number(pid_t pid, int fd, unsigned *out) {
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	bool known = copy >= 0 && ioctl(copy, TIOCGDEV, out) == 0;
	// At once: while we hold it the master would not report that the last program is gone.
	if (copy >= 0)
		close(copy);
	if (process >= 0)
		close(process);
	return known;
}
