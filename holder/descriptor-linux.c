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

static enum descriptor socket_kind(const struct process *process, uint64_t number) {
	uint64_t peer;
	if (socket_listens(process->pid, number))
		return FD_LISTEN;
	if (!socket_peer(process->pid, number, &peer))
		return FD_SOCKET;
	enum descriptor kind = within_reach(ends_reach(process, END_SOCKET, peer, false));
	return kind == FD_OUTSIDE ? FD_SOCKET : kind;
}

bool is_local_socket(const struct process *process, int fd) {
	char protocol[32];
	proc_socket_protocol(process->pid, fd, protocol, sizeof protocol);
	return protocol[0] == '\0' || strncmp(protocol, "UNIX", 4) == 0;
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

// /dev/tty is the terminal that controlled whoever opened it, which the descriptor itself knows. The number is not enough
// where the process may see another devpts; that its terminal has our foreground is.
static enum descriptor dev_tty_kind(const struct process *process, int fd, const struct terminal *terminal, bool by_number) {
	bool controls = process->terminal == terminal->number;
	unsigned number;
	if (!by_number || !proc_terminal_number(process->pid, fd, &number))
		return controls ? FD_TERMINAL_MAYBE : FD_OUTSIDE;
	if (number != terminal->number)
		return FD_OUTSIDE;
	bool ours = controls && terminal->group > 0 && process->terminal_group == terminal->group;
	return ours && proc_has_our_mounts(process->pid) ? FD_TERMINAL : FD_TERMINAL_MAYBE;
}

enum descriptor descriptor_kind(const struct process *process, int fd, const struct terminal *terminal, bool for_writing,
                                struct opened *expected) {
	char link[LINK_BYTES];
	uint64_t number;
	struct opened file;
	errno = 0;
	proc_descriptor_link(process->pid, fd, link, sizeof link);
	if (link[0] == '\0')
		return errno == ENOENT && expected == NULL ? FD_GONE : FD_UNREADABLE;
	bool pipe = end_number(link, "pipe", &number), socket = end_number(link, "socket", &number);
	if ((pipe || socket) && expected != NULL && number != expected->inode)
		return FD_UNREADABLE;
	if (pipe)
		return within_reach(ends_reach(process, END_PIPE, number, for_writing));
	if (socket)
		return socket_kind(process, number);
	bool anonymous = strncmp(link, "anon_inode:", 11) == 0;
	if (anonymous && expected == NULL)
		return anonymous_kind(process, fd, link);
	if (!proc_descriptor(process->pid, fd, &file))
		return FD_UNREADABLE;
	if (expected != NULL && (file.inode != expected->inode || file.system != expected->system))
		return FD_UNREADABLE;
	if (anonymous) {
		expected->unnamed = true; // they all have the same inode: it may be another of that kind, or of another
		return anonymous_kind(process, fd, link);
	}
	if (S_ISCHR(file.mode) && file.device == makedev(5, 0))
		return dev_tty_kind(process, fd, terminal, expected == NULL);
	if (is_terminal(process, &file, terminal))
		return FD_TERMINAL;
	return S_ISCHR(file.mode) && file.device == makedev(5, 2) ? FD_MASTER : FD_OUTSIDE;
}
