// Preloaded into a program: notes the moment right before it blocks on its standard input.
//
// An independent clock for bench/attention.bench.ts, the same for every caller: one line
// "CLOCK_MONOTONIC-ns LINES" for each call that finds nothing to read, where LINES is how
// many line ends the program has taken in so far. The first line with LINES = n is the
// moment at which it was ready for answer n + 1.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) static __typeof__(&name) real; if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int notes = -1;
static unsigned long lines;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("STAMPS");
	int fd = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) return;
	notes = fcntl(fd, F_DUPFD_CLOEXEC, 200); // out of the way of shells, which like low numbers
	close(fd);
}

int poll(struct pollfd *fds, nfds_t count, int timeout);

static void about_to_wait(void)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, "poll");
	struct pollfd input = { .fd = 0, .events = POLLIN };
	if (notes < 0 || real(&input, 1, 0) != 0) return;
	struct timespec now;
	char line[64];
	clock_gettime(CLOCK_MONOTONIC, &now);
	int length = snprintf(line, sizeof line, "%lld%09ld %lu\n", (long long)now.tv_sec, now.tv_nsec, lines);
	if (write(notes, line, (size_t)length) < 0) notes = -1;
}

static void took(const char *bytes, ssize_t count)
{
	for (ssize_t i = 0; i < count; i++) lines += bytes[i] == '\n' || bytes[i] == '\r';
}

ssize_t read(int fd, void *buffer, size_t size)
{
	REAL(read);
	if (fd == 0) about_to_wait();
	ssize_t count = real(fd, buffer, size);
	if (fd == 0) took(buffer, count);
	return count;
}

// glibc reads for stdio without passing by read().
char *fgets(char *buffer, int size, FILE *stream)
{
	REAL(fgets);
	if (stream == stdin && stream->_IO_read_ptr >= stream->_IO_read_end) about_to_wait();
	char *line = real(buffer, size, stream);
	if (stream == stdin && line != NULL)
		for (const char *at = line; *at != '\0'; at++) took(at, 1);
	return line;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	REAL(poll);
	for (nfds_t i = 0; timeout != 0 && i < count; i++)
		if (fds[i].fd == 0 && fds[i].events & POLLIN) about_to_wait();
	return real(fds, count, timeout);
}

int select(int count, fd_set *reads, fd_set *writes, fd_set *errors, struct timeval *timeout)
{
	REAL(select);
	int waits = timeout == NULL || timeout->tv_sec > 0 || timeout->tv_usec > 0;
	if (waits && count > 0 && reads != NULL && FD_ISSET(0, reads)) about_to_wait();
	return real(count, reads, writes, errors, timeout);
}

int pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors, const struct timespec *timeout, const sigset_t *mask)
{
	REAL(pselect);
	int waits = timeout == NULL || timeout->tv_sec > 0 || timeout->tv_nsec > 0;
	if (waits && count > 0 && reads != NULL && FD_ISSET(0, reads)) about_to_wait();
	return real(count, reads, writes, errors, timeout, mask);
}
