// Programs beside which another one reads the terminal, or that are moved by a process which the foreground does not show.
#include "adversary.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>

enum { LONG_MS = 100000 };

static void nothing(int signal) { (void)signal; }

static void catch(int signal, void (*handler)(int)) {
	struct sigaction action = {.sa_handler = handler};
	MUST(sigaction(signal, &action, NULL));
}

// A member of the group that waits for a line.
static pid_t reader(void) {
	pid_t pid = (pid_t)MUST(fork());
	if (pid == 0) {
		MUST(read(0, buffer, 100));
		_exit(0);
	}
	rest(100);
	return pid;
}

static void elsewhere(void) {
	if (MUST(fork()) != 0) return;
	MUST(setsid());
	rest(LONG_MS);
	_exit(0);
}

// Waits for the end of a child in another session, by its signal.
static void beside_pselect(void) {
	sigset_t one, before;
	sigemptyset(&one), sigaddset(&one, SIGCHLD), sigprocmask(SIG_BLOCK, &one, &before);
	catch(SIGCHLD, nothing);
	elsewhere();
	reader();
	ready();
	pselect(0, NULL, NULL, NULL, NULL, &before);
	rest(LONG_MS);
}

static int own[2];

static void tell(int signal) {
	(void)signal;
	if (write(own[1], "x", 1) != 1) _exit(9);
}

// The same, by a pipe to itself into which the handler writes.
static void beside_selfpipe(void) {
	MUST(pipe2(own, O_CLOEXEC));
	catch(SIGCHLD, tell);
	for (int i = 0; i < 2; i++) {
		if (MUST(fork()) != 0) continue;
		close(own[0]), close(own[1]);
		if (i == 0) MUST(setsid()), rest(LONG_MS);
		else MUST(read(0, buffer, 100));
		_exit(0);
	}
	rest(100);
	ready();
	struct pollfd one = {own[0], POLLIN, 0};
	while (poll(&one, 1, -1) < 0) {
	}
	rest(LONG_MS);
}

static void *idles(void *unused) {
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
	return unused;
}

// Two threads, of which the first waits for a semaphore in memory that it shares with a process of another session.
static void beside_semaphore(void) {
	sem_t *semaphore = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(semaphore, 1, 0);
	if (MUST(fork()) == 0) {
		if (MUST(fork()) == 0) MUST(setsid()), rest(LONG_MS), sem_post(semaphore);
		_exit(0);
	}
	wait(NULL);
	rest(100);
	reader();
	pthread_t thread;
	pthread_create(&thread, NULL, idles, NULL);
	rest(100);
	ready();
	sem_wait(semaphore);
	rest(LONG_MS);
}

// Waits for a process that it traces, which is no child of its own.
static void beside_tracer(void) {
	int ends[2];
	pid_t traced;
	MUST(pipe(ends));
	if (MUST(fork()) == 0) {
		pid_t pid = (pid_t)MUST(fork());
		if (pid == 0) {
			MUST(setsid());
			close(ends[0]), close(ends[1]);
			rest(LONG_MS);
		}
		MUST(write(ends[1], &pid, sizeof pid));
		_exit(0);
	}
	wait(NULL);
	MUST(read(ends[0], &traced, sizeof traced));
	rest(100);
	MUST(ptrace(PTRACE_SEIZE, traced, NULL, NULL));
	reader();
	ready();
	waitpid(traced, NULL, __WALL);
	rest(LONG_MS);
}

// A member of the group that has given up its terminal, and works.
static void beside_notty(void) {
	if (MUST(fork()) == 0) {
		MUST(ioctl(0, TIOCNOTTY));
		work();
	}
	rest(100);
	pid_t pid = reader();
	ready();
	waitpid(pid, NULL, 0);
}

static void *polls(void *unused) {
	struct pollfd one = {own[0], POLLIN, 0};
	poll(&one, 1, -1);
	return unused;
}

// A worker sleeps on its own pipe, whose other end only a process of another session has once something was typed.
static void idle_for_good(void) {
	int orders[2];
	MUST(pipe2(orders, O_CLOEXEC));
	if (MUST(fork()) == 0) {
		pthread_t thread;
		close(orders[1]);
		MUST(pipe(own));
		pthread_create(&thread, NULL, polls, NULL);
		while (read(orders[0], buffer, 100) > 0) {
			if (MUST(fork()) == 0) {
				MUST(setsid());
				close(orders[0]), close(own[0]);
				rest(LONG_MS);
				_exit(0);
			}
			close(own[1]);
		}
		_exit(0);
	}
	close(orders[0]);
	rest(200);
	ready();
	for (;;) {
		ssize_t got = read(0, buffer, 100);
		if (got > 0) MUST(write(orders[1], buffer, (size_t)got));
	}
}

// A connection that nobody ever writes to.
static int silent(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int server = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), client = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(bind(server, (struct sockaddr *)&at, size));
	MUST(listen(server, 1));
	MUST(getsockname(server, (struct sockaddr *)&at, &size));
	MUST(connect(client, (struct sockaddr *)&at, size));
	MUST(accept(server, NULL, NULL));
	close(server);
	return client;
}

static void read_number(int fd) {
	while (read(fd, buffer, 10) < 0 && errno == EINTR) {
	}
	rest(LONG_MS);
}

// A grandchild shares its descriptors and has put the terminal in the place of what it reads; its child does not.
static void table_of_grandchild(void) {
	int fd = (int)MUST(dup2(silent(), 60)), ends[2];
	MUST(pipe(ends));
	if (MUST(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)) == 0) {
		if (MUST(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)) == 0) {
			MUST(setsid());
			rest(400);
			MUST(dup2(0, fd));
			rest(LONG_MS);
			_exit(0);
		}
		MUST(unshare(CLONE_FILES));
		int mine[2];
		MUST(pipe(mine));
		close(ends[1]);
		MUST(read(mine[0], buffer, 1));
		_exit(0);
	}
	rest(100);
	ready();
	read_number(fd);
}

// A reader that waits for a signal of a process which another one of the tree has adopted.
static void adopted(void) {
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	pid_t pid = (pid_t)MUST(fork());
	if (pid == 0) {
		catch(SIGUSR1, nothing);
		if (MUST(fork()) == 0) {
			if (MUST(fork()) == 0) {
				MUST(setsid());
				close(0), close(1), close(2);
				work();
			}
			_exit(0);
		}
		wait(NULL);
		ready();
		MUST(read(0, buffer, 10));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	rest(LONG_MS);
}

// It is signalled when a connection has something to say.
static void signalled_by_socket(void) {
	int fd = silent();
	catch(SIGIO, nothing);
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETFL, O_ASYNC));
	ready();
	MUST(read(0, buffer, 10));
}

// It is signalled when something happens in a directory.
static void signalled_by_watch(void) {
	int fd = (int)MUST(inotify_init1(0));
	MUST(inotify_add_watch(fd, "/tmp", IN_CREATE));
	catch(SIGIO, nothing);
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETFL, O_ASYNC));
	ready();
	MUST(read(0, buffer, 10));
}

// Line mode in which a letter ends the line, or interrupts.
static void letter(int character, unsigned char is) {
	struct termios modes;
	MUST(tcgetattr(0, &modes));
	modes.c_cc[character] = is;
	MUST(tcsetattr(0, TCSANOW, &modes));
	catch(SIGINT, nothing);
	ready();
	ssize_t got = read(0, buffer, 10);
	(void)got;
	rest(LONG_MS);
}
static void letter_ends(void) { letter(VEOL, 'y'); }
static void letter_interrupts(void) { letter(VINTR, 'y'); }

// Stopped and continued from outside, as a limiter of processor time does.
static void throttled(void) {
	pid_t pid = getpid();
	if (MUST(fork()) == 0) {
		if (MUST(fork()) != 0) _exit(0);
		MUST(setsid());
		close(0), close(1), close(2);
		while (kill(pid, SIGSTOP) == 0) {
			rest(80);
			kill(pid, SIGCONT);
			rest(20);
		}
		_exit(0);
	}
	wait(NULL);
	ready();
	compute();
}

int main(int count, char **arguments) {
	static const struct program programs[] = {
		{"pselect", beside_pselect},
		{"selfpipe", beside_selfpipe},
		{"semaphore", beside_semaphore},
		{"tracer", beside_tracer},
		{"notty", beside_notty},
		{"idle-for-good", idle_for_good},
		{"table-of-grandchild", table_of_grandchild},
		{"adopted", adopted},
		{"signalled-by-socket", signalled_by_socket},
		{"signalled-by-watch", signalled_by_watch},
		{"letter-ends", letter_ends},
		{"letter-interrupts", letter_interrupts},
		{"throttled", throttled},
		{NULL, NULL},
	};
	return run_by_name(programs, count > 1 ? arguments[1] : NULL);
}
