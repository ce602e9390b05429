// What a descriptor of another process is open on. See blocked.h.
//
// Devices are compared, never paths, so it holds across mount and PID
// namespaces. A link that is no path (pipe:[1234]) tells all there is to know
// without asking a file system.

#include "blocked.h"
#include "ends.h"
#include "sockets.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { LINK_BYTES = 64 };

unsigned terminal_number(dev_t device) {
	unsigned high = major(device), low = minor(device);
	return (low & 0xff) | (high << 8) | ((low & ~0xffu) << 12);
}

static enum descriptor within_reach(enum reach reach) {
	return reach == REACH_OWN ? FD_WAKE : reach == REACH_GROUP ? FD_INSIDE : FD_OUTSIDE;
}

static enum descriptor socket_kind(const struct process *process, int fd, uint64_t number) {
	char protocol[32];
	uint64_t peer;
	proc_socket_protocol(process->pid, fd, protocol, sizeof protocol);
	if (strncmp(protocol, "UNIX", 4) != 0)
		return socket_listens(number) ? FD_LISTEN : protocol[0] == '\0' ? FD_LOCAL : FD_OUTSIDE;
	enum descriptor kind =
		socket_peer(number, &peer) ? within_reach(ends_reach(process, END_SOCKET, peer, false)) : FD_OUTSIDE;
	return kind != FD_OUTSIDE ? kind : socket_listens(number) ? FD_LISTEN : FD_LOCAL;
}

static enum descriptor anonymous_kind(const struct process *process, int fd, const char *link) {
	static const struct {
		const char *name;
		enum descriptor kind;
	} kinds[] = {
		{"[eventpoll]", FD_EPOLL},
		{"[timerfd]", FD_TIMER},
		{"[signalfd]", FD_SIGNALS},
		{"[io_uring]", FD_RING},
	};
	uint64_t number;
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strstr(link, kinds[i].name) != NULL)
			return kinds[i].kind;
	if (strstr(link, "[eventfd]") != NULL && event_number(process->pid, fd, &number))
		return within_reach(ends_reach(process, END_EVENTS, number, false));
	return FD_OUTSIDE; // inotify tells what others do to files, a pidfd that a process ended
}

bool is_terminal(const struct process *process, const struct opened *file, const struct terminal *terminal) {
	if (!S_ISCHR(file->mode))
		return false;
	if (file->device == makedev(5, 0)) // /dev/tty: whatever controls the process
		return process->terminal == terminal->number;
	return file->device == terminal->device && (terminal->instance == 0 || file->system == terminal->instance);
}

enum descriptor descriptor_kind(const struct process *process, int fd, const struct terminal *terminal, bool for_writing) {
	char link[LINK_BYTES];
	uint64_t number;
	struct opened file;
	errno = 0;
	proc_descriptor_link(process->pid, fd, link, sizeof link);
	if (link[0] == '\0')
		return errno == ENOENT ? FD_GONE : FD_UNREADABLE;
	if (end_number(link, "pipe", &number))
		return within_reach(ends_reach(process, END_PIPE, number, for_writing));
	if (end_number(link, "socket", &number))
		return socket_kind(process, fd, number);
	if (strncmp(link, "anon_inode:", 11) == 0)
		return anonymous_kind(process, fd, link);
	if (!proc_descriptor(process->pid, fd, &file))
		return FD_UNREADABLE;
	if (is_terminal(process, &file, terminal))
		return FD_TERMINAL;
	return S_ISCHR(file.mode) && file.device == makedev(5, 2) ? FD_MASTER : FD_OUTSIDE;
}
