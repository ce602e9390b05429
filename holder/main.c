// dialtone-holder: reads a launch block, starts the program on its own
// terminal, reports it in one line, and keeps running as a daemon.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

// Neither a hang-up, nor a keyboard, nor a client that left in mid-sentence may end the holder.
static void ignore_signals(void) {
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM};
	struct sigaction action = {.sa_handler = SIG_IGN};
	sigset_t none;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) sigaction(ignored[i], &action, NULL);
	action.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &action, NULL); // ignored, it would take the exit status away
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void keep_only(int report) {
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++) dup2(null, fd);
	dup2(report, 3);
	fcntl(3, F_SETFD, FD_CLOEXEC);
	os_close_from(4);
}

static bool fail(struct failure *failure, const char *stage) {
	*failure = (struct failure){.stage = stage, .error = errno};
	return false;
}

static bool open_socket(const char *path, struct failure *failure) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return fail(failure, "socket");
	}
	strcpy(address.sun_path, path);
	holder.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (holder.listener < 0) return fail(failure, "socket");
	fcntl(holder.listener, F_SETFD, FD_CLOEXEC);
	fcntl(holder.listener, F_SETFL, O_NONBLOCK);
	if (bind(holder.listener, (struct sockaddr *)&address, sizeof address) != 0) {
		fail(failure, "socket");
		close(holder.listener);
		return false;
	}
	snprintf(holder.socket, sizeof holder.socket, "%s", path);
	if (chmod(path, 0600) == 0 && listen(holder.listener, 64) == 0) return true;
	fail(failure, "socket");
	unlink(path);
	close(holder.listener);
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
	if (!terminal_open(&terminal, block, failure)) return false;
	if (!open_files(block, &terminal, failure)) {
		terminal_close(&terminal);
		return false;
	}
	if (!open_socket(block->socket, failure)) {
		undo_files();
		terminal_close(&terminal);
		return false;
	}
	holder.self = getpid();
	if (block->secret != NULL) memcpy(holder.secret, block->secret, SECRET_BYTES), holder.has_secret = true;
	holder.end.reason = "exit";
	holder.started_ms = wall_ms(), holder.started_at = now_us();
	if (!loop_prepare()) fail(failure, "fork");
	else holder.main_pid = spawn(block, &terminal, inheritance, failure);
	if (holder.main_pid == 0) {
		unlink(holder.socket);
		undo_files();
		terminal_close(&terminal);
		return false;
	}
	holder.master = terminal.master, holder.reads = -1;
	snprintf(holder.pts, sizeof holder.pts, "%s", terminal.pts);
	holder.cols = block->cols, holder.rows = block->rows;
	// A limit of centuries would overflow; it is none.
	if (block->wall_ms > 0 && block->wall_ms < (uint64_t)1 << 50) holder.wall_at = holder.started_at + (int64_t)block->wall_ms * 1000;
	holder.attention = attention_open(holder.self, holder.main_pid, holder.master, holder.pts);
	return true;
}

static int hold(uint8_t *bytes, struct block *block, int report) {
	keep_only(report);
	ignore_signals();
	os_become_reaper();
	if (chdir("/") != 0) return 1; // must not block an unmount
	struct inheritance inheritance = inheritance_take();
	struct failure failure;
	char line[512];
	struct text text = text_in(line, sizeof line);
	bool started = start(block, &inheritance, &failure);
	if (started) report_success(&text, holder.self, holder.main_pid, holder.pts);
	else report_failure(&text, &failure);
	// Launched and forgotten: if the launcher has died meanwhile, the session is found by its directory.
	ssize_t ignored = write(3, line, text.used);
	(void)ignored;
	close(3);
	block_free(block);
	munmap(bytes, BLOCK_MAX);
	if (!started) return 1;
	loop(&holder);
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

int main(int count, char **arguments) {
	complete_standard_files();
	if (count == 4 && strcmp(arguments[1], "streams") == 0) return streams_main(arguments[2], arguments[3]);
	os_protect(); // the block has the secret
	uint8_t *bytes = mmap(NULL, BLOCK_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED) return say_failure("block", errno, NULL);
	struct block block;
	const char *why = NULL;
	size_t length = block_read(0, bytes);
	if (length == 0) return say_failure("block", errno, errno == EINVAL ? "the block is not complete" : NULL);
	if (!block_parse(bytes, length, &block, &why)) return say_failure("block", EINVAL, why);

	// Double fork: in its own session without leading it, and reparented.
	int ends[2];
	if (pipe(ends) != 0) return say_failure("fork", errno, NULL);
	pid_t between = fork();
	if (between < 0) return say_failure("fork", errno, NULL);
	if (between == 0) {
		setsid();
		pid_t pid = fork();
		if (pid == 0) _exit(hold(bytes, &block, ends[1]));
		if (pid > 0) _exit(0);
		int error = errno;
		dup2(ends[1], 1);
		_exit(say_failure("fork", error, NULL));
	}
	close(ends[1]);
	while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {}
	char line[512];
	size_t used = 0;
	ssize_t got;
	while (used < sizeof line && ((got = read(ends[0], line + used, sizeof line - used)) > 0 || (got < 0 && errno == EINTR)))
		if (got > 0) used += (size_t)got;
	if (used == 0) return say_failure("fork", ECHILD, "the holder died before it could say why");
	int failed = say(line, used);
	return failed || strncmp(line, "{\"ok\":true", 10) != 0;
}
