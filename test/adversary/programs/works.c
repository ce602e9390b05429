// Programs that look as if they waited for input, but work, or wait for something else. Input would not help them.
#include "adversary.h"

#include <arpa/inet.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/timerfd.h>
#include <sys/user.h>

static void read_line(void) { MUST(read(0, buffer, sizeof buffer)); }

// --- reads that give up by themselves -------------------------------------------------------

static void spinner(void) {
	raw(0, 1);
	ready();
	for (int i = 0; read(0, buffer, 1) <= 0; i++) dprintf(1, "\r%c", "|/-\\"[i % 4]);
}
static void silent_spinner(void) {
	raw(0, 5);
	ready();
	while (read(0, buffer, 1) <= 0) {
	}
}
// Got the first of nine bytes: goes on after three seconds, whatever comes.
static void first_of_nine(void) {
	raw(9, 30);
	ready();
	MUST(read(0, buffer, 9));
	dprintf(1, "WENT ON\r\n");
	rest(60000);
}
static void by_timerfd(void) {
	struct itimerspec in = {{0, 0}, {3, 0}};
	struct pollfd set[] = {{0, POLLIN, 0}, {(int)MUST(timerfd_create(CLOCK_MONOTONIC, 0)), POLLIN, 0}};
	MUST(timerfd_settime(set[1].fd, 0, &in, NULL));
	ready();
	MUST(poll(set, 2, -1));
	rest(60000);
}

// --- something else is polled, too ------------------------------------------------------------

// Two sockets one after the other, but each connected to another process.
static void adjacent_sockets(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int server = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(bind(server, (struct sockaddr *)&at, sizeof at));
	MUST(listen(server, 5));
	MUST(getsockname(server, (struct sockaddr *)&at, &size));
	if (MUST(fork()) == 0) {
		setsid();
		int one = accept(server, NULL, NULL), other = accept(server, NULL, NULL);
		(void)one, (void)other;
		rest(60000);
		_exit(0);
	}
	close(server);
	int first = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), second = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(connect(first, (struct sockaddr *)&at, sizeof at));
	MUST(connect(second, (struct sockaddr *)&at, sizeof at));
	struct pollfd set[] = {{0, POLLIN, 0}, {first, POLLIN, 0}};
	ready();
	MUST(poll(set, 2, -1));
}
// Keeps both ends, but its child, in a session of its own, writes.
static void with_writer(int writes_at, int polled) {
	struct pollfd set[] = {{0, POLLIN, 0}, {polled, POLLIN, 0}};
	if (MUST(fork()) == 0) {
		setsid();
		rest(60000);
		MUST(write(writes_at, "12345678", 8));
		_exit(0);
	}
	ready();
	MUST(poll(set, 2, -1));
}
static void pipe_of_a_child(void) {
	int ends[2];
	MUST(pipe(ends));
	with_writer(ends[1], ends[0]);
}
static void pair_of_a_child(void) {
	int ends[2];
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	with_writer(ends[1], ends[0]);
}
static void counter_of_a_child(void) {
	int counter = (int)MUST(eventfd(0, 0));
	with_writer(counter, counter);
}
static void nested_pipe_of_a_child(void) {
	int ends[2], inner = (int)MUST(epoll_create1(0));
	struct epoll_event one = {.events = EPOLLIN};
	MUST(pipe(ends));
	MUST(epoll_ctl(inner, EPOLL_CTL_ADD, ends[0], &one));
	with_writer(ends[1], inner);
}

// --- others are at work ------------------------------------------------------------

static void *working(void *unused) { work(); return unused; }
static void *receiving(void *unused) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));
	MUST(bind(fd, (struct sockaddr *)&at, sizeof at));
	recv(fd, buffer, 1, 0);
	return unused;
}
static void beside(void *(*body)(void *)) {
	pthread_t worker;
	pthread_create(&worker, NULL, body, NULL);
	rest(100);
	ready();
	read_line();
}
static void beside_worker(void) { beside(working); }
static void beside_receiver(void) { beside(receiving); }
static pid_t detached(void) {
	pid_t child = (pid_t)MUST(fork());
	if (child == 0) {
		setsid();
		work();
	}
	return child;
}
static void *waiting(void *unused) {
	waitpid(detached(), NULL, 0);
	return unused;
}
static void beside_waiter(void) { beside(waiting); }
// Another process of the foreground waits for a signal from one that works elsewhere.
static void beside_signalled(void) {
	if (MUST(fork()) == 0) {
		detached();
		for (;;) pause();
	}
	rest(100);
	ready();
	read_line();
}
static void beside_child(void) {
	if (MUST(fork()) == 0) work();
	ready();
	read_line();
}
static void beside_sleeping_child(void) {
	if (MUST(fork()) == 0) {
		rest(60000);
		_exit(0);
	}
	struct pollfd one = {0, POLLIN, 0};
	ready();
	MUST(poll(&one, 1, -1));
}
// A stray reader takes what is typed, while the foreground waits for the network.
static void beside_stray(void) {
	if (MUST(fork()) == 0) {
		setsid();
		read_line();
		_exit(0);
	}
	rest(100);
	ready();
	receiving(NULL);
}
static void beside_stray_child_works(void) {
	if (MUST(fork()) == 0) {
		setsid();
		read_line();
		_exit(0);
	}
	pid_t busy = (pid_t)MUST(fork());
	if (busy == 0) {
		setsid();
		rest(60000);
		_exit(0);
	}
	ready();
	waitpid(busy, NULL, 0);
}

// --- the call is not what it seems ------------------------------------------------------------

// A supervisor answers the read in place of the kernel, and takes its time.
static void supervised(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof code / sizeof *code, code};
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
	ready();
	read_line(); // nobody answers
}
// The buffer is on a page that another thread has to bring. There is input, and it was taken.
static void *serves(void *unused) { rest(60000); return unused; }
static void on_a_page_to_come(void) {
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)MUST(syscall(SYS_userfaultfd, O_CLOEXEC));
	MUST(ioctl(fd, UFFDIO_API, &api));
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uint64_t)(uintptr_t)page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	MUST(ioctl(fd, UFFDIO_REGISTER, &range));
	pthread_t server;
	pthread_create(&server, NULL, serves, NULL);
	ready();
	MUST(read(0, page, 100));
}
// Held at the door of its read by a tracer that does something else.
static void traced(void) {
	pid_t child = (pid_t)MUST(fork());
	if (child == 0) {
		MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGSTOP);
		ready();
		read_line();
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	for (;;) {
		MUST(ptrace(PTRACE_SYSCALL, child, NULL, NULL));
		waitpid(child, &status, 0);
#ifdef __x86_64__
		struct user_regs_struct registers;
		MUST(ptrace(PTRACE_GETREGS, child, NULL, &registers));
		if (registers.orig_rax == SYS_read) work();
#else
		work();
#endif
	}
}

static int received; // a connection to somebody who does not answer
static void *exchange(void *unused) {
	rest(300);
	MUST(dup2(0, received));
	ready();
	rest(100000);
	return unused;
}
// It sleeps in a read of a socket, at whose number the terminal is by now.
static void exchanged(void) {
	int ends[2];
	pthread_t other;
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	received = ends[0];
	pthread_create(&other, NULL, exchange, NULL);
	MUST(read(received, buffer, 1));
}
static void woken(int signal) { (void)signal; }
// The end of a child that is in no foreground interrupts the read; only then it goes on.
static void until_a_child_ends(void) {
	struct sigaction action = {.sa_handler = woken};
	MUST(sigaction(SIGCHLD, &action, NULL));
	if (MUST(fork()) == 0) {
		setsid();
		rest(100000);
		_exit(0);
	}
	ready();
	while (read(0, buffer, 1) > 0) {
	}
	rest(100000);
}

int main(int count, char **arguments) {
	static const struct program programs[] = {
		{"spinner", spinner},
		{"silent-spinner", silent_spinner},
		{"first-of-nine", first_of_nine},
		{"timerfd", by_timerfd},
		{"adjacent-sockets", adjacent_sockets},
		{"pipe-of-a-child", pipe_of_a_child},
		{"pair-of-a-child", pair_of_a_child},
		{"counter-of-a-child", counter_of_a_child},
		{"nested-pipe-of-a-child", nested_pipe_of_a_child},
		{"beside-worker", beside_worker},
		{"beside-receiver", beside_receiver},
		{"beside-waiter", beside_waiter},
		{"beside-signalled", beside_signalled},
		{"beside-child", beside_child},
		{"beside-sleeping-child", beside_sleeping_child},
		{"beside-stray", beside_stray},
		{"beside-stray-child-works", beside_stray_child_works},
		{"supervised", supervised},
		{"page-to-come", on_a_page_to_come},
		{"traced", traced},
		{"exchanged", exchanged},
		{"until-a-child-ends", until_a_child_ends},
		{NULL, NULL},
	};
	return run_by_name(programs, count > 1 ? arguments[1] : NULL);
}
