// A key's echo through a bare terminal: this process and the program that echoes, nothing else. What the
// scheduler alone costs under load. Prints each time in ms.
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
	char bytes[64];
	int master;
	if (argc < 3) return 2;
	setsid(); // as a client has: a share of its own
	pid_t pid = forkpty(&master, NULL, NULL, NULL);
	if (pid == 0) {
		execl(argv[1], argv[1], (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || read(master, bytes, sizeof bytes) <= 0) return 1;
	for (int left = atoi(argv[2]); left > 0; left--) {
		double before = now();
		if (write(master, "k", 1) != 1 || read(master, bytes, sizeof bytes) <= 0) return 1;
		printf("%f\n", now() - before);
		usleep(10000);
	}
	close(master);
	waitpid(pid, NULL, 0);
}
