// From a launch block to a running program. The child reports over a close-on-exec
// pipe what failed and where; end of file there means that exec succeeded.
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "launch-report.h"
#include "limits.h"
#include "os.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define PATH_BYTES 4096
#define FILES_WANTED 256 // of the holder: clients, segments and reads of /proc, with a margin

static const char *const stages[STAGES] = {"terminal", "limits", "identity", "chdir", "exec", "sandbox"};

static bool fail(struct failure *failure, const char *stage) {
	*failure = (struct failure){.stage = stage, .error = errno};
	return false;
}

bool terminal_open(struct terminal *terminal, const struct block *block, struct failure *failure) {
	*terminal = (struct terminal){.master = -1, .slave = -1};
	terminal->master = os_open_master();
	if (terminal->master < 0) return fail(failure, "pty");
	struct stat stat;
	if (grantpt(terminal->master) != 0 || unlockpt(terminal->master) != 0 ||
	    ptsname_r(terminal->master, terminal->pts, sizeof terminal->pts) != 0 ||
	    (terminal->slave = os_open_slave(terminal->master, terminal->pts, false)) < 0 || fstat(terminal->slave, &stat) != 0) {
		fail(failure, "pty");
		terminal_close(terminal);
		return false;
	}
	terminal->rdev = stat.st_rdev;

	struct termios modes;
	struct winsize size = {.ws_row = block->rows, .ws_col = block->cols, .ws_xpixel = block->xpixel, .ws_ypixel = block->ypixel};
	bool ok = tcgetattr(terminal->slave, &modes) == 0;
	if (ok) {
		modes.c_iflag = ICRNL | IXON | BRKINT | IMAXBEL;
#ifdef IUTF8
		modes.c_iflag |= IUTF8; // so that erase in line mode takes a character, not a byte of one
#endif
		modes.c_oflag = OPOST | ONLCR;
		modes.c_lflag = ISIG | ICANON | IEXTEN | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE;
		ok = tcsetattr(terminal->slave, TCSANOW, &modes) == 0 && ioctl(terminal->master, TIOCSWINSZ, &size) == 0;
	}
	if (!ok) {
		fail(failure, "terminal");
		terminal_close(terminal);
		return false;
	}
	// Programs open their terminal again by name: it must belong to whom they run as.
	if (block->has_identity && fchown(terminal->slave, block->uid, (gid_t)-1) != 0) {
		fail(failure, "identity");
		terminal_close(terminal);
		return false;
	}
	return true;
}

void terminal_close(struct terminal *terminal) {
	if (terminal->slave >= 0) close(terminal->slave);
	if (terminal->master >= 0) close(terminal->master);
	terminal->master = terminal->slave = -1;
}

// In the order of the launch block, which is that of /proc/PID/limits; -1: not on this system.
#ifdef __linux__
static const int inherited[BLOCK_RLIMITS] = {
	RLIMIT_CPU,     RLIMIT_FSIZE, RLIMIT_DATA,  RLIMIT_STACK,      RLIMIT_CORE,     RLIMIT_RSS,  RLIMIT_NPROC,  RLIMIT_NOFILE,
	RLIMIT_MEMLOCK, RLIMIT_AS,    RLIMIT_LOCKS, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME,
};
#else
static const int inherited[BLOCK_RLIMITS] = {
	RLIMIT_CPU,     RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE,
	RLIMIT_MEMLOCK, RLIMIT_AS,    -1,          -1,           -1,          -1,         -1,           -1,
};
#endif

struct inheritance inheritance_take(void) {
	struct inheritance inheritance = {.umask = umask(077)};
	os_oom_last(inheritance.oom);
	for (int i = 0; i < BLOCK_RLIMITS; i++) {
		struct rlimit *limit = &inheritance.limits[i];
		if (inherited[i] < 0 || getrlimit(inherited[i], limit) != 0) continue;
		struct rlimit own = *limit;
		switch (inherited[i]) {
		case RLIMIT_NOFILE:
			if (own.rlim_cur >= FILES_WANTED) continue;
			own.rlim_cur = own.rlim_max < FILES_WANTED ? own.rlim_max : FILES_WANTED;
			break;
		case RLIMIT_CPU: case RLIMIT_FSIZE: case RLIMIT_DATA: case RLIMIT_AS: case RLIMIT_NPROC:
			// Only root may go above the hard limit.
			if (setrlimit(inherited[i], &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) == 0) continue;
			own.rlim_cur = own.rlim_max;
			break;
		default: continue;
		}
		setrlimit(inherited[i], &own);
	}
	return inheritance;
}

static rlim_t limit_of(uint64_t value) {
	return value == BLOCK_UNLIMITED || value > RLIM_INFINITY ? RLIM_INFINITY : (rlim_t)value;
}

static rlim_t lower(rlim_t one, rlim_t other) {
	return one == RLIM_INFINITY || (other != RLIM_INFINITY && other < one) ? other : one;
}

// The caller's limits. Above our own hard limit only root can go: then that one has to do.
static bool inherit_limits(const struct block *block, const struct inheritance *inheritance) {
	for (int i = 0; i < BLOCK_RLIMITS; i++) {
		if (inherited[i] < 0) continue;
		struct rlimit now, wanted = inheritance->limits[i];
		if (block->rlimited[i]) wanted = (struct rlimit){.rlim_cur = limit_of(block->soft[i]), .rlim_max = limit_of(block->hard[i])};
		if (setrlimit(inherited[i], &wanted) == 0) continue;
		if (errno != EPERM || getrlimit(inherited[i], &now) != 0) return false;
		wanted.rlim_max = lower(wanted.rlim_max, now.rlim_max);
		wanted.rlim_cur = lower(wanted.rlim_cur, wanted.rlim_max);
		if (setrlimit(inherited[i], &wanted) != 0) return false;
	}
	return true;
}

static bool set_limits(const struct block *block, const struct inheritance *inheritance) {
	// -1: of the session, not of a process.
	bool measured = limits_are_measured();
	const int resources[BLOCK_LIMITS] = {
		[LIMIT_CPU] = RLIMIT_CPU,       [LIMIT_MEMORY] = measured ? -1 : RLIMIT_AS, [LIMIT_PROCESSES] = measured ? -1 : RLIMIT_NPROC,
		[LIMIT_FILES] = RLIMIT_NOFILE,  [LIMIT_FILE_BYTES] = RLIMIT_FSIZE,          [LIMIT_CORE] = RLIMIT_CORE,
		[LIMIT_OUTPUT] = -1,
	};
	if (!inherit_limits(block, inheritance)) return false;
	for (int i = 0; i < BLOCK_LIMITS; i++) {
		struct rlimit limit;
		if (!block->limited[i] || resources[i] < 0) continue;
		if (getrlimit(resources[i], &limit) != 0) return false;
		// Never above the caller's own limit: a stricter one still satisfies the request.
		rlim_t most = limit_of(block->limits[i]);
		limit.rlim_cur = lower(most, limit.rlim_max);
		// At the soft limit of processor time comes SIGXCPU, which tells why; at the hard one SIGKILL, which does not.
		if (resources[i] == RLIMIT_CPU && most != RLIM_INFINITY) most++;
		limit.rlim_max = lower(most, limit.rlim_max);
		if (setrlimit(resources[i], &limit) != 0) return false;
	}
	// A better value than ours is root's to give; the program then runs with ours.
	if (block->has_nice && setpriority(PRIO_PROCESS, 0, block->nice) != 0 && errno != EACCES && errno != EPERM) return false;
	return true;
}

// The program is to be ended before the holder, without which nobody could say how it ended.
static void go_first(const char *oom) {
	int fd = *oom != '\0' ? open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0) return;
	ssize_t ignored = write(fd, oom, strlen(oom));
	(void)ignored;
	close(fd);
}

static bool take_identity(const struct block *block) {
	if (!block->has_identity) return true;
	gid_t group = block->gid;
	return setgroups(1, &group) == 0 && setgid(block->gid) == 0 && setuid(block->uid) == 0;
}

static void run(const char *path, const struct block *block) {
	execve(path, block->arguments, block->environment);
	if (errno != ENOEXEC) return;
	// A script without #! is a shell script to every shell and to execvp: so here.
	size_t count = 0;
	while (block->arguments[count] != NULL) count++;
	char **arguments = calloc(count + 2, sizeof *arguments);
	if (arguments == NULL) return;
	arguments[0] = (char *)"sh", arguments[1] = (char *)path;
	for (size_t i = 1; i < count; i++) arguments[i + 1] = block->arguments[i];
	execve("/bin/sh", arguments, block->environment);
}

// Looks the program up as a shell would, in the PATH that it is going to have. Returns only on failure, with errno.
static void run_from_path(const struct block *block) {
	const char *name = block->program != NULL ? block->program : block->arguments[0];
	if (block->program != NULL || strchr(name, '/') != NULL) {
		run(name, block);
		return;
	}
	const char *path = DEFAULT_PATH;
	for (char **entry = block->environment; *entry != NULL; entry++)
		if (strncmp(*entry, "PATH=", 5) == 0) path = *entry + 5;
	int error = ENOENT;
	size_t name_length = strlen(name);
	for (const char *at = path; name_length > 0; at++) {
		char full[PATH_BYTES];
		size_t length = strcspn(at, ":");
		if (length + name_length + 2 <= sizeof full) {
			memcpy(full, at, length);
			if (length > 0) full[length++] = '/';
			memcpy(full + length, name, name_length + 1);
			run(full, block);
			if (errno == EACCES) error = EACCES; // worth telling, if no other entry has a better one
			else if (errno != ENOENT && errno != ENOTDIR) return;
		}
		at += strcspn(at, ":");
		if (*at == '\0') break;
	}
	errno = error;
}

// End of file, and nothing before it. Looks, and takes nothing: it is asked by two processes.
static bool launcher_gave_up(void) {
	struct pollfd launcher = {.fd = LAUNCHER, .events = POLLIN};
	int bytes = 0;
	return poll(&launcher, 1, 0) == 1 && ioctl(LAUNCHER, FIONREAD, &bytes) == 0 && bytes == 0;
}

bool launcher_keeps_it(void) {
	char word;
	ssize_t got;
	do got = read(LAUNCHER, &word, 1);
	while (got < 0 && errno == EINTR);
	close(LAUNCHER);
	return got == 1;
}

static _Noreturn void child(const struct block *block, const struct terminal *terminal, const struct inheritance *inheritance,
                            int pipe_end) {
	struct launch_report report = {.stage = STAGE_TERMINAL};
	sigset_t none;
	os_every_signal(false);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	bool controlling = (block->flags & FLAG_NO_CONTROLLING_TERMINAL) == 0;
	if (setsid() < 0 || (controlling && ioctl(terminal->slave, TIOCSCTTY, 0) != 0)) goto failed;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(terminal->slave, fd) < 0) goto failed; // everything else is close-on-exec
	// A sandbox tells itself whether the program within could be executed; only then has the launch succeeded.
	bool reports = (block->flags & FLAG_REPORTS_LAUNCH) != 0;
	if (reports && (pipe_end == REPORT_FD ? fcntl(REPORT_FD, F_SETFD, 0) : dup2(pipe_end, REPORT_FD)) < 0) goto failed;
	umask(block->has_umask ? (mode_t)block->umask : inheritance->umask);
	os_protect(false); // the file is root's while it is on; nothing of the session runs yet
	go_first(inheritance->oom);
	report.stage = STAGE_LIMITS;
	if (!set_limits(block, inheritance)) goto failed;
	report.stage = STAGE_IDENTITY;
	if (!take_identity(block)) goto failed;
	report.stage = STAGE_CHDIR;
	if (chdir(block->cwd) != 0) goto failed;
	report.stage = STAGE_EXEC;
	if (launcher_gave_up()) errno = ECANCELED;
	else run_from_path(block);
failed:
	report.error = errno;
	while (write(pipe_end, &report, sizeof report) < 0 && errno == EINTR) {}
	_exit(127);
}

pid_t spawn(const struct block *block, struct terminal *terminal, const struct inheritance *inheritance, struct failure *failure) {
	int ends[2];
	sigset_t all, before;
	if (pipe(ends) != 0) return fail(failure, "fork");
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	sigfillset(&all); // no handler of ours may run in the child
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0) child(block, terminal, inheritance, ends[1]);
	int error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		errno = error;
		return fail(failure, "fork");
	}
	// The directory or the program may be on a mount that does not answer.
	struct pollfd either[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = LAUNCHER, .events = POLLIN}};
	static struct launch_report report; // its message outlives this call
	report = (struct launch_report){.stage = STAGE_EXEC, .error = ECANCELED};
	bool gave_up = false;
	while (!gave_up && (poll(either, 2, -1) < 0 || either[0].revents == 0)) {
		gave_up = launcher_gave_up();
		if (either[1].revents != 0) either[1].fd = -1;
	}
	if (gave_up) kill(pid, SIGKILL);
	ssize_t got = sizeof report;
	if (!gave_up) do got = read(ends[0], &report, sizeof report);
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	close(terminal->slave);
	terminal->slave = -1;
	if (got != (ssize_t)sizeof report) return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
	bool known = report.stage >= 0 && report.stage < STAGES;
	report.message[sizeof report.message - 1] = '\0';
	*failure = (struct failure){.stage = stages[known ? report.stage : STAGE_SANDBOX], .error = report.error};
	if (report.message[0] != '\0') failure->message = report.message;
	return 0;
}
