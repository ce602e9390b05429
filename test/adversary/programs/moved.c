// Programs that sleep in a read or poll of the terminal for all that one sees, but wait for something else, or go on by
// themselves: by timers and signals, by what others share with them, by numbers that mean another file by now.
#include "adversary.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>

// In a process of which nobody is the parent any more.
static int in_orphan(void) {
	pid_t child = (pid_t)MUST(fork());
	if (child != 0) {
		waitpid(child, NULL, 0);
		return 0;
	}
	if (MUST(fork()) != 0) _exit(0);
	return 1;
}
static void work_apart(void) {
	close(0), close(1), close(2);
	work();
}
static void work_in_another_session(void) {
	setsid();
	work_apart();
}
// Connected to itself: nothing ever comes.
static int silent_connection(void) {
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
static void progress(int step) { dprintf(1, "\rprogress %d%% ", step % 100); }
static void poll_both(int other) {
	struct pollfd set[] = {{0, POLLIN, 0}, {other, POLLIN, 0}};
	ready();
	for (int i = 0;; i++) {
		poll(set, 2, -1);
		if (read(set[1].revents != 0 ? other : 0, buffer, 128) > 0 && set[1].revents != 0) progress(i);
	}
}
static int add(int set, int fd) {
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	return (int)MUST(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
}

// --- timers and signals --------------------------------------------------------------------------

static void woken(int signal) { (void)signal; }
static void catch(int signal) {
	struct sigaction action = {.sa_handler = woken};
	MUST(sigaction(signal, &action, NULL));
}
static const struct itimerspec often = {{0, 100000000}, {0, 100000000}};
static void signal_often(int signal) {
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &often, NULL));
}
static void read_and_progress(void) {
	ready();
	for (int i = 0;; i++)
		if (read(0, buffer, 100) < 0) progress(i);
}
static void alarm_spinner(void) {
	struct itimerval value = {{0, 100000}, {0, 100000}};
	catch(SIGALRM);
	MUST(setitimer(ITIMER_REAL, &value, NULL));
	read_and_progress();
}
static void timer_spinner(void) {
	catch(SIGUSR1);
	signal_often(SIGUSR1);
	read_and_progress();
}
static sigset_t blocked(int signal) {
	sigset_t set, before;
	sigemptyset(&set);
	sigaddset(&set, signal);
	MUST(sigprocmask(SIG_BLOCK, &set, &before));
	return before;
}
static int descriptor_of(int signal) {
	sigset_t set;
	blocked(signal);
	sigemptyset(&set);
	sigaddset(&set, signal);
	return (int)MUST(signalfd(-1, &set, 0));
}
static void timer_in_ppoll(void) {
	struct pollfd one = {0, POLLIN, 0};
	catch(SIGUSR1);
	sigset_t before = blocked(SIGUSR1);
	signal_often(SIGUSR1);
	ready();
	for (int i = 0;; i++) {
		if (ppoll(&one, 1, NULL, &before) < 0) progress(i);
		else MUST(read(0, buffer, 10));
	}
}
static void timer_in_signalfd(void) {
	int signals = descriptor_of(SIGUSR1);
	signal_often(SIGUSR1);
	poll_both(signals);
}
static void orphans_signal(void) {
	catch(SIGUSR1);
	if (in_orphan()) work_in_another_session();
	ready();
	if (read(0, buffer, 100) < 0) rest(100000);
}
static void orphans_signalfd(void) {
	int signals = descriptor_of(SIGUSR1);
	if (in_orphan()) work_in_another_session();
	poll_both(signals);
}
// It is armed when the work is done.
static void orphans_timer(void) {
	int timer = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	if (in_orphan()) work_in_another_session();
	poll_both(timer);
}

// --- numbers that mean another file by now -------------------------------------------------------

static void number_of_a_timer(void) {
	int set = (int)MUST(epoll_create1(0)), timer = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	MUST(dup2(timer, 70));
	MUST(timerfd_settime(timer, 0, &often, NULL));
	add(set, 0);
	add(set, timer);
	close(timer);
	if (MUST(timerfd_create(CLOCK_MONOTONIC, 0)) != timer) exit(2);
	ready();
	for (int i = 0;; i++) {
		struct epoll_event event;
		MUST(epoll_wait(set, &event, 1, -1));
		MUST(read(event.data.fd == timer ? 70 : 0, buffer, 8));
		if (event.data.fd == timer) progress(i);
	}
}
static void number_of_a_set(void) {
	int set = (int)MUST(epoll_create1(0)), inner = (int)MUST(epoll_create1(0));
	struct epoll_event event;
	add(inner, silent_connection());
	MUST(dup2(inner, 71));
	add(set, 0);
	add(set, inner);
	close(inner);
	if (MUST(epoll_create1(0)) != inner) exit(2);
	ready();
	MUST(epoll_wait(set, &event, 1, -1));
}
// /dev/tty of whoever opened it.
static void tty_of_another(void) {
	int master, slave;
	MUST(openpty(&master, &slave, NULL, NULL, NULL));
	pid_t child = (pid_t)MUST(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
	if (child == 0) {
		setsid();
		MUST(ioctl(slave, TIOCSCTTY, 0));
		MUST(dup2((int)MUST(open("/dev/tty", O_RDWR)), 50));
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (in_orphan()) work_in_another_session(); // and holds the master
	signal(SIGHUP, SIG_IGN);
	for (int fd = 3; fd < 50; fd++) close(fd);
	ready();
	MUST(read(50, buffer, 100));
}
// A terminal with our number, in a devpts of its own.
static void tty_with_our_number(void) {
	int ours = atoi(ttyname(0) + strlen("/dev/pts/")), master, number, unlock = 0;
	char path[64];
	pid_t child = (pid_t)MUST(fork());
	if (child != 0) {
		waitpid(child, NULL, 0);
		return;
	}
	setsid();
	MUST(unshare(CLONE_NEWNS));
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	MUST(mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=620"));
	do {
		master = (int)MUST(open("/dev/pts/ptmx", O_RDWR | O_NOCTTY));
		MUST(ioctl(master, TIOCGPTN, &number));
	} while (number < ours);
	MUST(ioctl(master, TIOCSPTLCK, &unlock));
	snprintf(path, sizeof path, "/dev/pts/%d", ours);
	MUST(ioctl((int)MUST(open(path, O_RDWR)), TIOCSCTTY, 0));
	int terminal = (int)MUST(open("/dev/tty", O_RDWR));
	if (in_orphan()) work_apart(); // and holds the master
	for (int fd = 3; fd < 1024; fd++)
		if (fd != terminal) close(fd);
	close(0);
	ready();
	MUST(read(terminal, buffer, 100));
}

// --- what others share ---------------------------------------------------------------------------

static void set_in_shared_memory(void) {
	struct pollfd *one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*one = (struct pollfd){silent_connection(), POLLIN, 0};
	if (in_orphan()) {
		setsid();
		rest(300);
		one->fd = 0;
		_exit(0);
	}
	ready();
	MUST(poll(one, 1, -1));
}
static struct pollfd changed;
static char stack[1 << 16];
static int change_set(void *unused) {
	struct timespec time = {0, 400000000};
	(void)unused;
	syscall(SYS_nanosleep, &time, NULL);
	changed.fd = 0;
	syscall(SYS_exit, 0);
	return 0;
}
static void set_in_memory_of_two(void) {
	changed = (struct pollfd){silent_connection(), POLLIN, 0};
	MUST(clone(change_set, stack + sizeof stack - 64, CLONE_VM | SIGCHLD, NULL));
	ready();
	MUST(poll(&changed, 1, -1));
}
static void table_of_two(void) {
	int fd = (int)MUST(dup2(silent_connection(), 60));
	if (MUST(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)) == 0) {
		rest(400);
		dup2(0, fd);
		_exit(0);
	}
	ready();
	while (read(fd, buffer, 10) < 0 && errno == EINTR) {
	}
}

// --- others of the foreground wait for something else ---------------------------------------------

static void let_another_read(void) {
	if (MUST(fork()) == 0) {
		MUST(read(0, buffer, 100));
		_exit(0);
	}
	rest(100);
}
static void beside_closed_number(void) {
	int fd = silent_connection();
	let_another_read();
	signal(SIGCHLD, SIG_IGN);
	if (MUST(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)) == 0) {
		rest(300);
		close(fd);
		_exit(0);
	}
	ready();
	while (read(fd, buffer, 10) < 0 && errno == EINTR) {
	}
}
static int never;
static int work_in_our_memory(void *unused) {
	struct timespec time = {0, 50000000};
	(void)unused;
	syscall(SYS_setsid);
	while (syscall(SYS_nanosleep, &time, NULL) == 0) {
	}
	return 0;
}
static void beside_futex(void) {
	let_another_read();
	MUST(clone(work_in_our_memory, stack + sizeof stack - 64, CLONE_VM | SIGCHLD, NULL));
	ready();
	MUST(syscall(SYS_futex, &never, 128 /* FUTEX_WAIT_PRIVATE */, 0, NULL, NULL, 0));
}
static void beside_signalfd(void) {
	int signals = descriptor_of(SIGCHLD);
	if (MUST(fork()) == 0) {
		setsid();
		work();
	}
	let_another_read();
	ready();
	MUST(read(signals, buffer, 128));
}
static void beside_stopped_writer(void) {
	int ends[2];
	MUST(pipe(ends));
	if (MUST(fork()) == 0) {
		close(ends[0]);
		raise(SIGSTOP);
		_exit(0);
	}
	close(ends[1]);
	let_another_read();
	ready();
	MUST(read(ends[0], buffer, 10));
}
// A stray reader takes what is typed, while the foreground waits for a job of its own.
static void beside_stray_job_works(void) {
	if (MUST(fork()) == 0) {
		setsid();
		MUST(read(0, buffer, 100));
		_exit(0);
	}
	pid_t job = (pid_t)MUST(fork());
	if (job == 0) {
		setpgid(0, 0);
		rest(100000);
		_exit(0);
	}
	rest(100);
	ready();
	waitpid(job, NULL, 0);
}

int main(int count, char **arguments) {
	static const struct program programs[] = {
		{"alarm-spinner", alarm_spinner},
		{"timer-spinner", timer_spinner},
		{"timer-in-ppoll", timer_in_ppoll},
		{"timer-in-signalfd", timer_in_signalfd},
		{"orphans-signal", orphans_signal},
		{"orphans-signalfd", orphans_signalfd},
		{"orphans-timer", orphans_timer},
		{"number-of-a-timer", number_of_a_timer},
		{"number-of-a-set", number_of_a_set},
		{"tty-of-another", tty_of_another},
		{"tty-with-our-number", tty_with_our_number},
		{"set-in-shared-memory", set_in_shared_memory},
		{"set-in-memory-of-two", set_in_memory_of_two},
		{"table-of-two", table_of_two},
		{"beside-closed-number", beside_closed_number},
		{"beside-futex", beside_futex},
		{"beside-signalfd", beside_signalfd},
		{"beside-stopped-writer", beside_stopped_writer},
		{"beside-stray-job-works", beside_stray_job_works},
		{NULL, NULL},
	};
	return run_by_name(programs, count > 1 ? arguments[1] : NULL);
}
