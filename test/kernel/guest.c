// What the checks of test/kernel/main.ts run inside the machine, beside busybox: programs that take all they can get,
// and what busybox has no command for.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int count; // what it was given as a number

// Says how far it got, MiB by MiB: the last line is the most that it had.
static int hog(void) {
	for (int i = 1; i <= count; i++) {
		char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED) return 3;
		memset(memory, 1, 1 << 20);
		printf("had %d\n", i);
	}
	sleep(60);
	return 0;
}

static void *sleeps(void *unused) { return sleep(60), unused; }

static int threads(void) {
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 1; i <= count; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &small, sleeps, NULL) != 0) break;
		if (i % 16 == 0) printf("had %d\n", i);
	}
	sleep(60);
	return 0;
}

static int forks(void) {
	for (int i = 1; i <= count; i++) {
		pid_t pid = fork();
		if (pid == 0) return sleep(60);
		if (pid < 0) break;
		printf("had %d\n", i);
	}
	sleep(60);
	return 0;
}

// Short processes for which nobody waits: their time is in no process's account.
static int burners(void) {
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			for (volatile long spins = 0; spins < 1000000; spins++) {}
			_exit(0);
		}
		while (waitpid(pid, NULL, 0) > 0) {}
	}
	return 0;
}

int main(int arguments, char **argument) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	const char *what = arguments > 2 ? argument[1] : "";
	if (strcmp(what, "mark") == 0) return setxattr(argument[2], "trusted.delegate", "1", 1, 0) != 0; // as systemd does
	if (strcmp(what, "as-nobody") == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
		execv(argument[2], argument + 2);
		return 127;
	}
	count = arguments > 2 ? atoi(argument[2]) : 0;
	if (strcmp(what, "hog") == 0) return hog();
	if (strcmp(what, "threads") == 0) return threads();
	if (strcmp(what, "forks") == 0) return forks();
	if (strcmp(what, "burners") == 0) return burners();
	return 2;
}
