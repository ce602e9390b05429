// Everything that is not Linux: compiled for macOS, tested on Linux alone (test/holder/portable.test.ts).
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "os.h"

int os_wait(struct pollfd *fds, nfds_t count, int64_t timeout_us) {
	// There is no ppoll(). A signal between these calls wakes poll() by the pipe that its handler writes to.
	sigset_t none, before;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, &before);
	int ready = poll(fds, count, timeout_us < 0 ? -1 : (int)((timeout_us + 999) / 1000));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ready;
}

void os_news_init(pthread_cond_t *news) { pthread_cond_init(news, NULL); }

// Conditions cannot wait by the monotonic clock everywhere: by the other, for as long as is left now.
bool os_news_wait(pthread_cond_t *news, pthread_mutex_t *lock, int64_t until) {
	if (until < 0) return pthread_cond_wait(news, lock) == 0;
	int64_t left = until - now_us(), at;
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	at = (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000 + (left > 0 ? left : 0);
	time = (struct timespec){.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000};
	return pthread_cond_timedwait(news, lock, &time) == 0;
}

void os_become_reaper(void) {} // orphans go to launchd; END then reaches only what is still in the tree

void os_close_from(int lowest) {
	long highest = sysconf(_SC_OPEN_MAX);
	for (int fd = lowest; fd < (highest < 0 || highest > 65536 ? 65536 : highest); fd++) close(fd);
}

bool os_peer_uid(int socket, uid_t *uid) {
	gid_t gid;
	return getpeereid(socket, uid, &gid) == 0;
}

bool os_peer_is_below(int socket, pid_t root) {
	(void)socket, (void)root;
	return false; // not looked up: the secret is all there is
}

void os_protect(bool on) { (void)on; }

int os_open_master(void) {
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master >= 0) fcntl(master, F_SETFD, FD_CLOEXEC), fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
	return master;
}

int os_open_slave(int master, const char *pts, bool nonblocking) {
	(void)master;
	return open(pts, O_RDWR | O_NOCTTY | O_CLOEXEC | (nonblocking ? O_NONBLOCK : 0));
}

int os_watch_reads(int master) {
	(void)master;
	return -1; // a timer has to do
}

void os_reads_taken(int reads) { (void)reads; }

int os_reserve(int fd, off_t bytes) {
	char zero[512] = {0}; // no fallocate everywhere: written blocks are reserved blocks
	for (off_t at = 0; at < bytes; at += (off_t)sizeof zero)
		if (pwrite(fd, zero, sizeof zero, at) != (ssize_t)sizeof zero) return errno != 0 ? errno : ENOSPC;
	return 0;
}

int os_terminal_signal(int master, int signal) {
#ifdef TIOCSIG
	return ioctl(master, TIOCSIG, signal);
#else
	pid_t group = tcgetpgrp(master);
	return group > 0 ? kill(-group, signal) : -1;
#endif
}

int os_alarm(int64_t after_us) {
	(void)after_us;
	return -1;
}

void os_oom_last(char children[OOM_TEXT]) { children[0] = '\0'; }

void os_every_signal(bool ignored) {
	for (int number = 1; number < NSIG; number++) signal(number, ignored ? SIG_IGN : SIG_DFL);
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

pid_t os_session_of(int master) { return tcgetsid(master); }
