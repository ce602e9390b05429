// Outside of the sandbox: starts bwrap, waits, and ends as the program did. See sandbox.h.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../launch-report.h"
#include "sandbox.h"

#define TERMINAL_NAME "@terminal" // among bwrap's arguments: the path of the session's terminal

extern char **environ;

static _Noreturn void fail(int stage, int error, const char *message) {
	struct launch_report report = {.stage = stage, .error = error};
	snprintf(report.message, sizeof report.message, "%s", message);
	while (write(REPORT_FD, &report, sizeof report) < 0 && errno == EINTR) {}
	_exit(127);
}

// Signals are for the program, which gets its own: whoever ends the whole session sends them to every process of it.
static void ignore_signals(void) {
	for (int signal = 1; signal < NSIG; signal++) {
		bool fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGABRT;
		if (signal != SIGCHLD && !fault) sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	}
}

// Moves `from` to `to`, beyond the descriptors that are being given out.
static bool place(int from, int to) { return dup2(from, to) == to; }

static _Noreturn void start_bwrap(char **arguments, int news, int errors, int nothing) {
	// All of them above what is given out first, so that none overwrites another.
	int terminal = fcntl(0, F_DUPFD, 16), news_up = fcntl(news, F_DUPFD, 16), errors_up = fcntl(errors, F_DUPFD, 16);
	int nothing_up = fcntl(nothing, F_DUPFD, 16);
	if (terminal < 0 || news_up < 0 || errors_up < 0 || nothing_up < 0) _exit(127);
	bool placed = place(nothing_up, 0) && place(nothing_up, 1) && place(errors_up, 2);
	// bwrap's own process closes these two; the inner one has them.
	placed = placed && place(terminal, TERMINAL_FD) && place(news_up, NEWS_FD);
	if (placed && close_range(NEWS_FD + 1, ~0u, 0) == 0) execve(arguments[0], arguments, environ);
	dprintf(2, "%s: %s", arguments[0], strerror(errno));
	_exit(127);
}

static bool hear(int fd, struct news *news) {
	ssize_t got;
	do got = read(fd, news, sizeof *news);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof *news;
}

// What bwrap said before it gave up.
static _Noreturn void fail_of_bwrap(int errors) {
	char text[200];
	size_t used = 0;
	ssize_t got;
	while (used < sizeof text - 1 && (got = read(errors, text + used, sizeof text - 1 - used)) != 0) {
		if (got < 0 && errno == EINTR) continue;
		if (got < 0) break;
		used += (size_t)got;
	}
	while (used > 0 && text[used - 1] == '\n') used--;
	text[used] = '\0';
	fail(STAGE_SANDBOX, EPERM, used > 0 ? text : "bwrap ended without a reason");
}

static void wait_for(pid_t pid) {
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

// A program that was killed by a signal and one that exits with 128 plus its number are not the same.
static _Noreturn void end_as(int status) {
	if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
	int signal = WTERMSIG(status);
	sigset_t one;
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); // the program has left its own, if any
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigemptyset(&one);
	sigaddset(&one, signal);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), signal);
	_exit(128 + signal);
}

_Noreturn void outer(char **arguments) {
	char terminal[64];
	int news[2], errors[2];
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC);
	ignore_signals();
	if (nothing < 0 || pipe2(news, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0 || ttyname_r(0, terminal, sizeof terminal) != 0)
		fail(STAGE_SANDBOX, errno, "");
	for (char **argument = arguments; *argument != NULL && strcmp(*argument, "--") != 0; argument++)
		if (strcmp(*argument, TERMINAL_NAME) == 0) *argument = terminal;
	arguments = without_private_files(arguments);
	if (arguments == NULL) fail(STAGE_SANDBOX, errno, "the private files of /etc cannot be listed");
	pid_t bwrap = fork();
	if (bwrap < 0) fail(STAGE_SANDBOX, errno, "");
	if (bwrap == 0) start_bwrap(arguments, news[1], errors[1], nothing);
	close(news[1]);
	close(errors[1]);
	// The terminal is closed when the programs within have closed it.
	for (int fd = 0; fd < 3; fd++) place(nothing, fd);
	close(nothing);

	struct news first, last;
	if (!hear(news[0], &first)) fail_of_bwrap(errors[0]);
	if (first.kind == NEWS_FAILED) {
		wait_for(bwrap);
		fail(first.stage, first.error, first.message);
	}
	close(REPORT_FD);
	close(errors[0]);
	bool told = hear(news[0], &last);
	// What is left behind keeps bwrap, as a background job survives its shell. Otherwise its processor time counts as ours.
	if (!told || last.alone) wait_for(bwrap);
	end_as(told ? last.status : SIGKILL);
}
