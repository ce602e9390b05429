// The helper of a shell whose commands run with stdout and stderr apart: one
// process for the life of the shell. It makes the pipes ahead of time, copies
// each to a file and to the terminal (the file first: when the end mark is on
// the terminal, the file is complete), and signals the shell when both are ready.
//
// A pair of pipes is a directory: fifos 1, 2 and done, files out1 and out2. One
// is always kept ready as "spare"; the daemon takes it by renaming it. The end
// mark carries a nonce, which comes through stdin: it is in no file and no argument.
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os.h"

#define MAX_PAIRS 64 // each command that left a writer in the background keeps one; beyond that the next run starts another helper
#define MARK_MAX 256
#define CHUNK 65536
#define SPARE "spare"

struct stream {
	int in;
	int hold; // our own writer: there is no end of file before the end mark
	int out;
	bool ended; // the end mark has been seen: what comes later is not the command's
	char kept[MARK_MAX]; // the beginning of what may be the end mark
	size_t kept_length;
};

struct pair {
	struct stream streams[2];
	int done;
	bool live, used;
};

static struct pair pairs[MAX_PAIRS];
static char marks[2][MARK_MAX]; // how the end marks begin
static size_t mark_length;
static int terminal = -1;

static void shut(int *fd) {
	if (*fd >= 0) close(*fd);
	*fd = -1;
}

static bool put(int fd, const char *bytes, size_t length) {
	while (length > 0) {
		ssize_t written = write(fd, bytes, length);
		if (written < 0 && errno == EINTR) continue;
		if (written <= 0) return false;
		bytes += written, length -= (size_t)written;
	}
	return true;
}

static void show(const char *bytes, size_t length) {
	if (terminal >= 0 && !put(terminal, bytes, length)) shut(&terminal); // it has hung up
}

static void copy(struct stream *stream, const char *bytes, size_t length) {
	if (stream->out >= 0 && !put(stream->out, bytes, length)) shut(&stream->out); // a full disk must not stop the command
	show(bytes, length);
}

static bool open_stream(struct stream *stream, const char *pair, int number) {
	char path[128];
	*stream = (struct stream){.in = -1, .hold = -1, .out = -1};
	snprintf(path, sizeof path, "%s/%d", pair, number);
	if (mkfifo(path, 0600) != 0) return false;
	stream->in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	stream->hold = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	snprintf(path, sizeof path, "%s/out%d", pair, number);
	stream->out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return stream->in >= 0 && stream->hold >= 0 && stream->out >= 0;
}

static void close_pair(struct pair *pair) {
	for (int i = 0; i < 2; i++) {
		shut(&pair->streams[i].in);
		shut(&pair->streams[i].hold);
		shut(&pair->streams[i].out);
	}
	shut(&pair->done);
	pair->live = false;
}

static bool open_pair(const char *name) {
	struct pair *pair = NULL;
	for (int i = 0; i < MAX_PAIRS && pair == NULL; i++)
		if (!pairs[i].live) pair = &pairs[i];
	if (pair == NULL) return false;
	char path[128];
	if (mkdir(name, 0700) != 0 && errno != EEXIST) return false;
	snprintf(path, sizeof path, "%s/done", name);
	*pair = (struct pair){.live = true, .done = -1};
	bool opened = open_stream(&pair->streams[0], name, 1);
	opened = open_stream(&pair->streams[1], name, 2) && opened;
	if (opened && mkfifo(path, 0600) == 0) pair->done = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (pair->done >= 0) return true;
	close_pair(pair);
	return false;
}

static void remove_spare(void) {
	static const char *const names[] = {"1", "2", "done", "out1", "out2"};
	char path[128];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, SPARE "/%s", names[i]);
		unlink(path);
	}
	rmdir(SPARE);
}

// A shell runs one command at a time: what an earlier one has not ended by now was broken off.
static void release_others(const struct pair *current) {
	for (int i = 0; i < MAX_PAIRS; i++)
		if (&pairs[i] != current && pairs[i].live && pairs[i].used)
			for (int n = 0; n < 2; n++) shut(&pairs[i].streams[n].hold);
}

static bool read_marks(void) {
	char nonce[MARK_MAX - 32];
	ssize_t length = read(STDIN_FILENO, nonce, sizeof nonce - 1);
	if (length <= 0) return false;
	nonce[length] = 0;
	nonce[strcspn(nonce, "\n")] = 0;
	if (*nonce == 0) return false;
	for (int i = 0; i < 2; i++)
		mark_length = (size_t)snprintf(marks[i], sizeof marks[i], "\033]133;E;%d;aid=%s;", i + 1, nonce);
	return true;
}

// How many bytes at the end may be the beginning of the mark.
static size_t begun_mark(const char *mark, const char *bytes, size_t length) {
	for (size_t n = mark_length - 1 < length ? mark_length - 1 : length; n > 0; n--)
		if (memcmp(bytes + length - n, mark, n) == 0) return n;
	return 0;
}

static void take(struct pair *pair, int number, const char *bytes, size_t length) {
	struct stream *stream = &pair->streams[number];
	const char *end = stream->ended ? NULL : memmem(bytes, length, marks[number], mark_length);
	if (end == NULL) {
		stream->kept_length = stream->ended ? 0 : begun_mark(marks[number], bytes, length);
		copy(stream, bytes, length - stream->kept_length);
		memcpy(stream->kept, bytes + length - stream->kept_length, stream->kept_length);
		return;
	}
	copy(stream, bytes, (size_t)(end - bytes));
	shut(&stream->out);
	show(end, length - (size_t)(end - bytes));
	shut(&stream->hold);
	stream->ended = true;
	if (pair->streams[0].ended && pair->streams[1].ended) put(pair->done, "\n", 1);
}

static void drain(struct pair *pair, int number) {
	static char chunk[MARK_MAX + CHUNK];
	struct stream *stream = &pair->streams[number];
	size_t before = stream->kept_length;
	memcpy(chunk, stream->kept, before);
	ssize_t got = read(stream->in, chunk + before, CHUNK);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (!pair->used) {
		// Before anything is shown: when the daemon sees the end of this run, the pipes of the next are there.
		pair->used = true;
		release_others(pair);
		open_pair(SPARE);
	}
	stream->kept_length = 0;
	if (got > 0) {
		take(pair, number, chunk, before + (size_t)got);
		return;
	}
	copy(stream, chunk, before);
	shut(&stream->out);
	shut(&stream->in);
	if (pair->streams[0].in < 0 && pair->streams[1].in < 0) close_pair(pair);
}

// The shell has gone: what it left in the background may still write.
static void terminal_gone(void) {
	shut(&terminal);
	remove_spare();
	for (int i = 0; i < MAX_PAIRS; i++)
		if (pairs[i].live && !pairs[i].used) close_pair(&pairs[i]);
	release_others(NULL);
}

static void serve(void) {
	for (;;) {
		struct pollfd polled[1 + 2 * MAX_PAIRS];
		struct pair *pair_of[1 + 2 * MAX_PAIRS];
		int number_of[1 + 2 * MAX_PAIRS];
		nfds_t count = 0;
		if (terminal >= 0) polled[count++] = (struct pollfd){.fd = terminal};
		nfds_t first = count;
		for (int i = 0; i < MAX_PAIRS; i++)
			for (int n = 0; n < 2; n++)
				if (pairs[i].live && pairs[i].streams[n].in >= 0) {
					pair_of[count] = &pairs[i], number_of[count] = n;
					polled[count++] = (struct pollfd){.fd = pairs[i].streams[n].in, .events = POLLIN};
				}
		if (count == 0) return;
		if (poll(polled, count, -1) < 0) continue;
		for (nfds_t i = first; i < count; i++)
			if (polled[i].revents != 0 && pair_of[i]->streams[number_of[i]].in == polled[i].fd) drain(pair_of[i], number_of[i]);
		if (first == 1 && (terminal < 0 || (polled[0].revents & (POLLHUP | POLLERR | POLLNVAL)))) terminal_gone();
	}
}

int streams_main(const char *directory, const char *run) {
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
	char name[64];
	umask(077);
	os_close_from(3); // a lock that the shell holds must not be held by us, too
	if (strchr(run, '/') != NULL || (size_t)snprintf(name, sizeof name, "%s.d", run) >= sizeof name) return 2;
	if (chdir(directory) != 0 || !read_marks()) return 1;
	terminal = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (terminal < 3) return 1; // also when a standard descriptor is missing, which would be taken for it
	remove_spare(); // of a helper that was killed
	if (!open_pair(name)) return 1;
	// The shell continues when this process has ended: by then the pipes exist, and reading never stops.
	pid_t child = fork();
	if (child != 0) return child < 0;
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
	setpgid(0, 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++) dup2(null, fd);
	shut(&null);
	serve();
	return 0;
}
