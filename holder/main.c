// dialtone-holder: reads a launch block, starts the program on its own
// terminal, reports it in one line, and keeps running as a daemon.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holder.h"
#include "os.h"
#include "report.h"
#include "streams.h"

static struct holder holder;

// Standard input, output and error exist from here on, so that no other descriptor can be taken for them.
static void complete_standard_files(void) {
	int fd;
	do fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2) close(fd);
}

// Nothing that another process sends may end the holder, but KILL; what acts on it is loop.c's. A fault of its own still does.
static void ignore_signals(void) {
	sigset_t none;
	os_every_signal(true);
	signal(SIGCHLD, SIG_DFL); // ignored, it would take the exit status away
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

#define REPORT 3

static void keep_only(int report, int launcher) {
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++) dup2(null, fd);
	launcher = fcntl(launcher, F_DUPFD, LAUNCHER + 1); // out of the way of the other
	dup2(report, REPORT), dup2(launcher, LAUNCHER);
	fcntl(REPORT, F_SETFD, FD_CLOEXEC), fcntl(LAUNCHER, F_SETFD, FD_CLOEXEC);
	os_close_from(LAUNCHER + 1);
}

static bool fail(struct failure *failure, const char *stage) {
	*failure = (struct failure){.stage = stage, .error = errno};
	return false;
}

static bool open_files(const struct block *block, const struct terminal *terminal, struct failure *failure) {
	int dir = open(block->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) return fail(failure, "log");
	struct log_options options = {.dir = dir, .quota = block->quota, .segment_bytes = block->segment,
	                              .pts = terminal->pts, .cols = block->cols, .rows = block->rows};
	if (!log_open(&holder.log, &options)) {
		fail(failure, "log");
		close(dir);
		return false;
	}
	bool kept = block->secret == NULL || secret_keep(dir, block->secret);
	if (kept && exit_file_reserve(&holder.exit_file, dir)) return true;
	fail(failure, "log");
	if (kept) secret_remove(dir);
	log_undo(&holder.log);
	close(dir);
	return false;
}

static void undo_files(void) {
	int dir = holder.log.dir;
	exit_file_release(&holder.exit_file);
	secret_remove(dir);
	log_undo(&holder.log);
	close(dir);
}

static bool start(const struct block *block, const struct inheritance *inheritance, struct failure *failure) {
	struct terminal terminal;
	if (block->mask != NULL && !mask_add_all(&holder.mask, block->mask, block->mask_bytes)) {
		*failure = (struct failure){.stage = "block", .error = EINVAL};
		return false;
	}
	if (!terminal_open(&terminal, block, failure)) return false;
	if (!open_files(block, &terminal, failure)) {
		terminal_close(&terminal);
		return false;
	}
	int refused = listener_open(&holder.listener, block->socket, holder.log.dir);
	if (refused != 0) {
		*failure = (struct failure){.stage = "socket", .error = refused};
		undo_files();
		terminal_close(&terminal);
		return false;
	}
	holder.self = getpid();
	if (block->secret != NULL) memcpy(holder.secret, block->secret, SECRET_BYTES), holder.has_secret = true;
	holder.end.reason = "exit";
	holder.started_ms = wall_ms(), holder.started_at = now_us();
	limits_begin(&holder, block);
	if (block->limited[LIMIT_OUTPUT]) rate_begin(&holder.rate, block->limits[LIMIT_OUTPUT], holder.started_at);
	if (!loop_prepare(&holder)) fail(failure, "fork");
	else holder.main_pid = spawn(block, &terminal, inheritance, failure);
	if (holder.main_pid == 0) {
		unlink(holder.listener.path);
		undo_files();
		terminal_close(&terminal);
		return false;
	}
	holder.master = terminal.master, holder.reads = -1;
	snprintf(holder.pts, sizeof holder.pts, "%s", terminal.pts);
	holder.cols = block->cols, holder.rows = block->rows;
	// A limit of centuries would overflow; it is none.
	bool limited = block->wall_ms > 0 && block->wall_ms < (uint64_t)1 << 50;
	holder.ends_with_owner = (block->flags & FLAG_ENDS_WITH_OWNER) != 0;
	holder.alarm = limited ? os_alarm((int64_t)block->wall_ms * 1000) : -1;
	if (limited && holder.alarm < 0) holder.wall_at = holder.started_at + (int64_t)block->wall_ms * 1000;
	bool confined = (block->flags & FLAG_REPORTS_LAUNCH) != 0; // only a sandbox does
	holder.attention = attention_open(holder.self, holder.main_pid, confined, holder.master, holder.pts);
	return true;
}

static int hold(uint8_t *bytes, struct block *block, int report, int launcher) {
	keep_only(report, launcher);
	ignore_signals();
	os_become_reaper();
	tree_leave();
	if (chdir("/") != 0) return 1; // must not block an unmount
	struct inheritance inheritance = inheritance_take();
	struct failure failure;
	char line[512];
	struct text text = text_in(line, sizeof line);
	bool started = start(block, &inheritance, &failure);
	if (started) report_success(&text, holder.self, holder.main_pid, holder.pts);
	else report_failure(&text, &failure);
	ssize_t ignored = write(REPORT, line, text.used);
	(void)ignored;
	close(REPORT);
	block_free(block);
	munmap(bytes, BLOCK_MAX);
	if (!started) return 1;
	if (!launcher_keeps_it()) end_begin(&holder.end, "end", 0, now_us());
	loop();
}

static int say(const char *line, size_t length) {
	while (length > 0) {
		ssize_t put = write(1, line, length);
		if (put < 0 && errno == EINTR) continue;
		if (put <= 0) return 1;
		line += put, length -= (size_t)put;
	}
	return 0;
}

static int say_failure(const char *stage, int error, const char *message) {
	char line[512];
	struct text text = text_in(line, sizeof line);
	report_failure(&text, &(struct failure){.stage = stage, .error = error, .message = message});
	say(line, text.used);
	return 1;
}

// Waits for the holder's line while the caller may still give up; how many bytes it has, 0 if there is none.
static size_t await_line(int from, char *line, size_t size, int keep, bool *kept) {
	size_t used = 0;
	for (;;) {
		struct pollfd fds[2] = {{.fd = from, .events = POLLIN}, {.fd = *kept ? -1 : 0, .events = POLLIN}};
		if (poll(fds, 2, -1) < 0) continue;
		if (fds[1].revents != 0) {
			char word;
			if (read(0, &word, 1) != 1) _exit(1); // with it goes the other end of the holder's pipe
			*kept = write(keep, "", 1) == 1;
		}
		if (fds[0].revents == 0) continue;
		ssize_t got = read(from, line + used, size - used);
		if (got > 0) used += (size_t)got;
		if (got == 0 || used == size) return used;
	}
}

int main(int count, char **arguments) {
	complete_standard_files();
	if (count == 4 && strcmp(arguments[1], "streams") == 0) return streams_main(arguments[2], arguments[3]);
	if (count == 2 && strcmp(arguments[1], "leave") == 0) return tree_leave_main();
	os_protect(true); // the block has the secret
	uint8_t *bytes = mmap(NULL, BLOCK_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED) return say_failure("block", errno, NULL);
	struct block block;
	const char *why = NULL;
	bool kept = false;
	size_t length = block_read(0, bytes, &kept);
	if (length == 0) return say_failure("block", errno, errno == EINVAL ? "the block is not complete" : NULL);
	if (!block_parse(bytes, length, &block, &why)) return say_failure("block", EINVAL, why);

	// Double fork: in its own session without leading it, and reparented.
	int ends[2], keep[2];
	if (pipe(ends) != 0 || pipe(keep) != 0) return say_failure("fork", errno, NULL);
	if (kept) kept = write(keep[1], "", 1) == 1;
	pid_t between = fork();
	if (between < 0) return say_failure("fork", errno, NULL);
	if (between == 0) {
		setsid();
		pid_t pid = fork();
		if (pid == 0) _exit(hold(bytes, &block, ends[1], keep[0]));
		if (pid > 0) _exit(0);
		int error = errno;
		dup2(ends[1], 1);
		_exit(say_failure("fork", error, NULL));
	}
	close(ends[1]);
	close(keep[0]);
	while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {}
	char line[512];
	size_t used = await_line(ends[0], line, sizeof line, keep[1], &kept);
	if (used == 0) return say_failure("fork", ECHILD, "the holder died before it could say why");
	if (say(line, used) != 0 || strncmp(line, "{\"ok\":true", 10) != 0) return 1;
	// The caller has the answer: now it is its session, or not.
	char word;
	if (!kept && (read(0, &word, 1) != 1 || write(keep[1], "", 1) != 1)) return 1;
	return 0;
}
