// Process 1 of the sandbox: see sandbox.h.
//
// Arguments: a list of `cwd DIR`, `same PATH DEVICE INODE` and `proxy PORT SOCKET`, then `run PROGRAM ARGUMENT…`.
// An empty PROGRAM is looked up by the first argument. The environment's names have a prefix: nothing outside may
// act on them (LD_PRELOAD would run the caller's code in bwrap).
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../launch-report.h"
#include "sandbox.h"

#define PREFIX "DIALTONE:"

extern char **environ;

struct plan {
	const char *cwd, *program;
	char **arguments;
};

static void tell(const struct news *news) {
	while (write(NEWS_FD, news, sizeof *news) < 0 && errno == EINTR) {}
}

static _Noreturn void fail(int stage, int error, const char *message) {
	struct news news = {.kind = NEWS_FAILED, .stage = stage, .error = error};
	snprintf(news.message, sizeof news.message, "%s", message);
	tell(&news);
	_exit(127);
}

// What was checked before must be what was bound: a directory may have become a link in between.
static void check_same(const char *path, const char *device, const char *inode) {
	struct stat is;
	char message[160];
	if (stat(path, &is) == 0 && is.st_dev == strtoull(device, NULL, 10) && is.st_ino == strtoull(inode, NULL, 10)) return;
	snprintf(message, sizeof message, "%.100s changed while the sandbox was made", path);
	fail(STAGE_SANDBOX, EPERM, message);
}

static struct plan follow(char **arguments) {
	struct plan plan = {.cwd = "/"};
	for (char **at = arguments; *at != NULL;) {
		if (strcmp(*at, "run") == 0) {
			plan.program = at[1];
			plan.arguments = at + 2;
			return plan;
		} else if (strcmp(*at, "cwd") == 0) {
			plan.cwd = at[1];
			at += 2;
		} else if (strcmp(*at, "same") == 0) {
			check_same(at[1], at[2], at[3]);
			at += 4;
		} else if (strcmp(*at, "proxy") == 0) {
			if (forward_start(atoi(at[1]), at[2]) != 0) fail(STAGE_SANDBOX, errno, "the proxy's port is not available");
			at += 3;
		} else {
			break;
		}
	}
	fail(STAGE_SANDBOX, EINVAL, "bad arguments");
}

static void uncover_environment(void) {
	char **to = environ;
	for (char **from = environ; *from != NULL; from++)
		if (strncmp(*from, PREFIX, sizeof PREFIX - 1) == 0) *to++ = *from + sizeof PREFIX - 1;
	*to = NULL;
}

// --- the program ---------------------------------------------------------------------

static void default_signals(void) {
	sigset_t none;
	for (int signal = 1; signal < NSIG; signal++) sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run(const struct plan *plan, int report) {
	struct news news = {.kind = NEWS_FAILED, .stage = STAGE_TERMINAL};
	default_signals();
	bool ready = setsid() >= 0 && ioctl(TERMINAL_FD, TIOCSCTTY, 0) == 0;
	for (int fd = 0; ready && fd < 3; fd++) ready = dup2(TERMINAL_FD, fd) == fd;
	if (ready) {
		news.stage = STAGE_CHDIR;
		ready = chdir(plan->cwd) == 0;
	}
	if (ready) {
		news.stage = STAGE_EXEC;
		// Everything above 2 is close-on-exec.
		execvpe(*plan->program != '\0' ? plan->program : plan->arguments[0], plan->arguments, environ);
	}
	news.error = errno;
	while (write(report, &news, sizeof news) < 0 && errno == EINTR) {}
	_exit(127);
}

static pid_t start(const struct plan *plan) {
	struct news news;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0) fail(STAGE_SANDBOX, errno, "");
	pid_t pid = fork();
	if (pid < 0) fail(STAGE_SANDBOX, errno, "");
	if (pid == 0) run(plan, ends[1]);
	close(ends[1]);
	ssize_t got;
	do got = read(ends[0], &news, sizeof news);
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	if (got == (ssize_t)sizeof news) fail(news.stage, news.error, "");
	tell(&(struct news){.kind = NEWS_STARTED});
	return pid;
}

// --- its parent ------------------------------------------------------------------------

// False: no process is left.
static bool reap(pid_t program, struct news *ended) {
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == EINTR) continue;
		if (pid <= 0) return pid == 0;
		if (pid == program) *ended = (struct news){.kind = NEWS_ENDED, .status = status};
	}
}

static _Noreturn void reap_all(pid_t program, int children) {
	struct news ended = {.kind = NEWS_STARTED};
	struct pollfd either[2] = {{.fd = children, .events = POLLIN}, {.fd = NEWS_FD}};
	bool told = false;
	for (;;) {
		struct signalfd_siginfo ignored;
		while (read(children, &ignored, sizeof ignored) > 0) {}
		bool some = reap(program, &ended);
		if (!told && ended.kind == NEWS_ENDED) {
			ended.alone = !some;
			tell(&ended);
			told = true;
			either[1].fd = -1;
		}
		if (!some) _exit(0);
		// The outer one was killed before the program ended: with this process everything in here ends.
		if (poll(either, 2, -1) > 0 && either[1].revents != 0) _exit(0);
	}
}

_Noreturn void inner(char **arguments) {
	sigset_t child;
	fcntl(TERMINAL_FD, F_SETFD, FD_CLOEXEC);
	fcntl(NEWS_FD, F_SETFD, FD_CLOEXEC);
	close_range(NEWS_FD + 1, ~0u, 0);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (children < 0 || nothing < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(STAGE_SANDBOX, errno, "");
	scope_install();
	if (filter_install() != 0) fail(STAGE_SANDBOX, errno, "the system call filter was refused");
	struct plan plan = follow(arguments);
	uncover_environment();
	// What is told outside of the program's end goes through a descriptor of this process: nothing in here may open it, or trace us.
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	pid_t program = start(&plan);
	// The terminal is the program's alone: it is closed when they have closed it.
	for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
	close(TERMINAL_FD);
	reap_all(program, children);
}
