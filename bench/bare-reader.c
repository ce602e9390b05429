// The least a program can do to read another one's terminal: open, fork, read
// until the end. What everything else is measured against.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
	struct timespec start, end;
	static char bytes[1 << 16];
	long count = 0;
	if (argc < 2) return 2;
	clock_gettime(CLOCK_MONOTONIC, &start);
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return 1;
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		ioctl(slave, TIOCSCTTY, 0);
		for (int fd = 0; fd < 3; fd++) dup2(slave, fd);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	close(slave);
	for (ssize_t got; (got = read(master, bytes, sizeof bytes)) > 0;) count += got;
	waitpid(pid, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%ld %f\n", count, (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6);
}
