// Reading /proc on Linux. See proc.h.

#include "proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 64 };

// These files are made whole when they are first read, so one read gives all that fits.
static ssize_t read_text(const char *path, char *out, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t got = read(fd, out, size - 1);
	int error = errno;
	close(fd);
	out[got > 0 ? got : 0] = '\0';
	errno = error;
	return got;
}

ssize_t proc_text(pid_t pid, const char *name, char *out, size_t size) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return read_text(path, out, size);
}

bool proc_stat(pid_t pid, pid_t tid, struct process *out) {
	char path[PATH_BYTES], text[1024];
	if (tid == pid)
		snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	else
		snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (read_text(path, text, sizeof text) <= 0)
		return false;
	// The name may hold anything, a closing parenthesis too: the last one ends it.
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (open == NULL || close == NULL || close < open)
		return false;
	size_t length = (size_t)(close - open - 1);
	if (length >= sizeof out->name)
		length = sizeof out->name - 1;
	memcpy(out->name, open + 1, length);
	out->name[length] = '\0';
	int parent, group, session, terminal, terminal_group, threads;
	if (sscanf(close + 1, " %c %d %d %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d %*s %llu", &out->state,
	           &parent, &group, &session, &terminal, &terminal_group, &threads, &out->start) != 8)
		return false;
	out->pid = pid;
	out->parent = parent;
	out->group = group;
	out->session = session;
	out->terminal = (unsigned)terminal;
	out->terminal_group = terminal_group;
	out->threads = threads > 0 ? (unsigned)threads : 1;
	return true;
}

bool proc_scheduled(pid_t pid, pid_t tid, uint64_t *ran, uint64_t *switches) {
	char path[PATH_BYTES], text[96];
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	unsigned long long time, count;
	if (read_text(path, text, sizeof text) <= 0 || sscanf(text, "%llu %*u %llu", &time, &count) != 2)
		return false;
	*ran = time;
	*switches = count;
	return true;
}

bool proc_switches(pid_t pid, pid_t tid, uint64_t *out) {
	uint64_t ran;
	return proc_scheduled(pid, tid, &ran, out);
}

uint64_t proc_ran(pid_t pid) {
	// The clock of a process, as clock_getcpuclockid(3) makes it.
	struct timespec time;
	if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t proc_reads(pid_t pid) {
	char text[512];
	char *line = proc_text(pid, "io", text, sizeof text) > 0 ? strstr(text, "\nsyscr:") : NULL;
	return line == NULL ? 0 : strtoull(line + 7, NULL, 10);
}

bool proc_caught(pid_t pid, uint64_t *out) {
	char text[4096];
	if (proc_text(pid, "status", text, sizeof text) <= 0)
		return false;
	char *line = strstr(text, "\nSigCgt:");
	if (line == NULL)
		return false;
	*out = strtoull(line + 8, NULL, 16);
	return true;
}

void proc_wait_channel(pid_t pid, pid_t tid, char *out, size_t size) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
	if (read_text(path, out, size) <= 0 || out[0] == '0')
		out[0] = '\0';
}

enum call_answer proc_call(pid_t pid, pid_t tid, struct call *out) {
	char path[PATH_BYTES], text[256];
	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	errno = 0;
	if (read_text(path, text, sizeof text) <= 0)
		return errno == EPERM || errno == EACCES ? CALL_REFUSED : CALL_GONE;
	if (text[0] == 'r')
		return CALL_RUNNING;
	char *at = text;
	out->number = strtol(at, &at, 10);
	if (out->number < 0)
		return CALL_OUTSIDE;
	for (int i = 0; i < 6; i++)
		out->argument[i] = strtoull(at, &at, 16);
	strtoull(at, &at, 16); // the stack
	out->pointer = strtoull(at, &at, 16);
	return CALL_IN;
}

size_t proc_memory(pid_t pid, uint64_t address, void *out, size_t length) {
	struct iovec here = {out, length}, there = {(void *)(uintptr_t)address, length};
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)length)
		return length;
	// Slower, but it also reads what the process may only execute, and up to where the mapping ends.
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = pread(fd, out, length, (off_t)address);
	close(fd);
	return got > 0 ? (size_t)got : 0;
}

static bool each_number(const char *path, pid_t pid, proc_each each, void *context) {
	DIR *directory = opendir(path);
	if (directory == NULL)
		return false;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		if (isdigit((unsigned char)entry->d_name[0]))
			each(context, pid, atoi(entry->d_name));
	closedir(directory);
	return true;
}

bool proc_threads(pid_t pid, proc_each each, void *context) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return each_number(path, pid, each, context);
}

bool proc_descriptors(pid_t pid, proc_each each, void *context) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	return each_number(path, pid, each, context);
}

bool proc_processes(proc_each each, void *context) {
	return each_number("/proc", 0, each, context);
}

bool proc_children(pid_t pid, pid_t tid, proc_each each, void *context) {
	char path[PATH_BYTES], text[4096];
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	// Numbers with a space behind each. A long list comes in pieces, and a piece may end within a number.
	long child = 0;
	bool digits = false;
	ssize_t got;
	while ((got = read(fd, text, sizeof text)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (isdigit((unsigned char)text[i])) {
				child = child * 10 + (text[i] - '0');
				digits = true;
			} else if (digits) {
				each(context, pid, (int)child);
				child = 0;
				digits = false;
			}
		}
	}
	close(fd);
	return got == 0;
}

// --- descriptors ------------------------------------------------------------------------

// struct statx of the kernel, as far as it is used: older C libraries do not have it.
struct answer {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, uid, gid;
	uint16_t mode, spare;
	uint64_t inode, rest[11];
	uint32_t device_major, device_minor, system_major, system_minor;
	uint64_t more[14];
};

static bool read_opened(const char *path, struct opened *out) {
	enum { NO_AUTOMOUNT = 0x800, DONT_SYNC = 0x4000, TYPE_AND_INODE = 0x101 };
	_Static_assert(sizeof(struct answer) == 256, "as in linux/stat.h");
	struct answer answer;
	if (syscall(SYS_statx, AT_FDCWD, path, NO_AUTOMOUNT | DONT_SYNC, TYPE_AND_INODE, &answer) != 0)
		return false;
	*out = (struct opened){
		.mode = answer.mode,
		.device = makedev(answer.device_major, answer.device_minor),
		.system = makedev(answer.system_major, answer.system_minor),
		.inode = answer.inode,
	};
	return true;
}

bool proc_descriptor(pid_t pid, int fd, struct opened *out) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	return read_opened(path, out);
}

bool proc_program(pid_t pid, struct opened *out) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return read_opened(path, out);
}

// The permissions of the link itself, which is in /proc: whether the descriptor reads or writes.
static bool permits(pid_t pid, int fd, mode_t permission) {
	char path[PATH_BYTES];
	struct stat link;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	return lstat(path, &link) == 0 && (link.st_mode & permission) != 0;
}

bool proc_descriptor_reads(pid_t pid, int fd) {
	return permits(pid, fd, S_IRUSR);
}

bool proc_descriptor_writes(pid_t pid, int fd) {
	return permits(pid, fd, S_IWUSR);
}

void proc_descriptor_link(pid_t pid, int fd, char *out, size_t size) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	ssize_t length = readlink(path, out, size - 1);
	out[length > 0 ? length : 0] = '\0';
}

size_t proc_descriptor_info(pid_t pid, int fd, char *out, size_t size) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, fd);
	ssize_t length = read_text(path, out, size);
	if (length <= 0) {
		out[0] = '\0';
		return 0;
	}
	return (size_t)length;
}

void proc_socket_protocol(pid_t pid, int fd, char *out, size_t size) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	ssize_t length = getxattr(path, "system.sockprotoname", out, size - 1);
	out[length > 0 ? length : 0] = '\0';
}
