// What the programs of this directory share. Each source holds several programs, chosen by name: it prints READY right
// before it does what its name says, and then does only that.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

struct program {
	const char *name;
	void (*run)(void);
};

static char buffer[4096];

static inline void ready(void) {
	if (write(1, "READY\r\n", 7) != 7) exit(3);
}

// A call that must not fail: a program that could not set its trap would prove nothing.
#define MUST(call) must((long)(call), #call)
static inline long must(long result, const char *what) {
	if (result < 0) {
		dprintf(1, "CANNOT %s: %s\r\n", what, strerror(errno));
		exit(2);
	}
	return result;
}

static inline void raw(int least, int tenths) {
	struct termios modes;
	MUST(tcgetattr(0, &modes));
	modes.c_lflag &= ~(unsigned)(ICANON | ECHO);
	modes.c_cc[VMIN] = (cc_t)least;
	modes.c_cc[VTIME] = (cc_t)tenths;
	MUST(tcsetattr(0, TCSANOW, &modes));
}

static inline void rest(long ms) {
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&time, NULL);
}

static inline void compute(void) {
	for (volatile unsigned long i = 0;; i++) {
	}
}

// Work that does not take the machine away from what watches it.
static inline void work(void) {
	for (;;) {
		for (volatile int i = 0; i < 2000000; i++) {
		}
		rest(20);
	}
}

static inline int run_by_name(const struct program *programs, const char *name) {
	for (const struct program *one = programs; one->name != NULL; one++)
		if (name != NULL && strcmp(one->name, name) == 0) {
			one->run();
			return 0;
		}
	dprintf(1, "CANNOT %s: no such program\r\n", name == NULL ? "" : name);
	return 2;
}
