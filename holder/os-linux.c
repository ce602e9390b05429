// Linux: the calls that have no portable spelling.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "os.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#define PTS_MAJOR 136
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

int os_wait(struct pollfd *fds, nfds_t count, int64_t timeout_us) {
	struct timespec timeout = {.tv_sec = timeout_us / 1000000, .tv_nsec = timeout_us % 1000000 * 1000};
	sigset_t none;
	sigemptyset(&none);
	return ppoll(fds, count, timeout_us < 0 ? NULL : &timeout, &none);
}

void os_news_init(pthread_cond_t *news) {
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(news, &attributes);
	pthread_condattr_destroy(&attributes);
}

bool os_news_wait(pthread_cond_t *news, pthread_mutex_t *lock, int64_t until) {
	struct timespec time = {.tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000};
	return (until < 0 ? pthread_cond_wait(news, lock) : pthread_cond_timedwait(news, lock, &time)) == 0;
}

void os_protect(bool on) {
#ifdef __SANITIZE_ADDRESS__
	on = false; // the leak checker traces the process, which it may not if that is not dumpable
#endif
	prctl(PR_SET_DUMPABLE, on ? 0 : 1, 0, 0, 0);
}

void os_become_reaper(void) { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

void os_close_from(int lowest) {
	if (syscall(SYS_close_range, (unsigned)lowest, UINT_MAX, 0) == 0) return;
	long highest = sysconf(_SC_OPEN_MAX); // before Linux 5.9, and where a filter forbids the call
	for (int fd = lowest; fd < (highest < 0 ? 65536 : highest); fd++) close(fd);
}

bool os_peer_uid(int socket, uid_t *uid) {
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
	*uid = peer.uid;
	return true;
}

int os_open_master(void) {
	// Not posix_openpt(): musl turns "no more terminals" (ENOSPC) into EAGAIN.
	return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

// A terminal that its program made exclusive (TIOCEXCL) opens only for root, but the leader of its foreground has it open.
static int borrow_slave(int master) {
	pid_t leader = tcgetpgrp(master);
	unsigned number;
	if (leader <= 0 || ioctl(master, TIOCGPTN, &number) != 0) return -1;
	int process = (int)syscall(SYS_pidfd_open, leader, 0), slave = -1;
	for (int fd = 0; fd < 3 && process >= 0 && slave < 0; fd++) {
		struct stat of;
		slave = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
		if (slave < 0 || (fstat(slave, &of) == 0 && S_ISCHR(of.st_mode) && major(of.st_rdev) == PTS_MAJOR && minor(of.st_rdev) == number)) continue;
		close(slave);
		slave = -1;
	}
	if (process >= 0) close(process);
	if (slave < 0) errno = EBUSY;
	return slave;
}

int os_open_slave(int master, const char *pts, bool nonblocking) {
	int flags = O_RDWR | O_NOCTTY | O_CLOEXEC | (nonblocking ? O_NONBLOCK : 0);
	// By the master, not by the name: right in any mount namespace.
	int slave = ioctl(master, TIOCGPTPEER, flags);
	if (slave < 0 && errno == EINVAL) slave = open(pts, flags);
	return slave >= 0 || errno != EBUSY ? slave : borrow_slave(master);
}

int os_watch_reads(int master) {
	// Whoever reads the terminal wakes its writers, by whatever name it was opened; the edge tells each time.
	struct epoll_event event = {.events = EPOLLOUT | EPOLLET};
	int reads = epoll_create1(EPOLL_CLOEXEC);
	if (reads >= 0 && epoll_ctl(reads, EPOLL_CTL_ADD, master, &event) == 0) return reads;
	if (reads >= 0) close(reads);
	return -1;
}

void os_reads_taken(int reads) {
	struct epoll_event event;
	epoll_wait(reads, &event, 1, 0);
}

int os_reserve(int fd, off_t bytes) { return posix_fallocate(fd, 0, bytes); }

int os_terminal_signal(int master, int signal) { return ioctl(master, TIOCSIG, signal); }

int os_alarm(int64_t after_us) {
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	struct itimerspec when = {.it_value = {.tv_sec = after_us / 1000000, .tv_nsec = after_us % 1000000 * 1000 + 1}};
	if (fd >= 0) timerfd_settime(fd, 0, &when, NULL);
	return fd;
}

#define OOM_MOST 1000
#define OOM_CHILD 100   // above what they would have had: a tenth of the memory
#define OOM_HOLDER -900 // not -1000: it may be ended when nothing else is left

void os_oom_last(char children[OOM_TEXT]) {
	char text[16] = "";
	children[0] = '\0';
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (fd < 0) fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC); // root's file, because of os_protect()
	if (fd < 0) return;
	ssize_t got = read(fd, text, sizeof text - 1);
	int now = atoi(text), child = now + OOM_CHILD < OOM_MOST ? now + OOM_CHILD : OOM_MOST;
	if (got > 0) snprintf(children, OOM_TEXT, "%d", child);
	int length = snprintf(text, sizeof text, "%d", OOM_HOLDER);
	// Only root may lower it; for others it is enough that their children have more.
	ssize_t ignored = got > 0 && now > OOM_HOLDER ? pwrite(fd, text, (size_t)length, 0) : 0;
	(void)ignored;
	close(fd);
}

void os_every_signal(bool ignored) {
	// By the system call: sigaction() refuses the library's own, whose default is to end the process like any other.
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = {.handler = ignored ? SIG_IGN : SIG_DFL}, before;
	for (int signal = 1; signal <= 64; signal++) {
		// A sanitizer's, to report a fault.
		bool handled = syscall(SYS_rt_sigaction, signal, NULL, &before, sizeof action.mask) == 0 && before.handler != SIG_IGN && before.handler != SIG_DFL;
		if (!ignored || !handled) syscall(SYS_rt_sigaction, signal, &action, NULL, sizeof action.mask);
	}
}

int64_t now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t wall_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// What tcgetsid() does, but into a variable that has a value: valgrind does not know the call.
pid_t os_session_of(int master) {
	pid_t leader = -1;
	return ioctl(master, TIOCGSID, &leader) == 0 ? leader : -1;
}
