// Programs that wait for input without sleeping in a call for it: they look at the keyboard now and then, or are
// signalled. All of them wait for input.
#include "adversary.h"

#include <sys/signalfd.h>
#include <sys/time.h>

static void look(void) {
	int flags = fcntl(0, F_GETFL);
	fcntl(0, F_SETFL, flags | O_NONBLOCK);
	if (read(0, buffer, sizeof buffer) > 0) exit(0);
	fcntl(0, F_SETFL, flags);
}
static void on_signal(int signal) { (void)signal; look(); }
static void catch(int signal) {
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	MUST(sigaction(signal, &action, NULL));
}

// --- a tick -------------------------------------------------------------------------------

static void nonblocking(void) {
	fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
	ready();
	while (read(0, buffer, sizeof buffer) < 0) rest(100);
}
static void nonblocking_raw(void) { raw(1, 0); nonblocking(); }
static void vmin_0(void) {
	raw(0, 0);
	ready();
	while (read(0, buffer, sizeof buffer) <= 0) rest(500);
}
static void full_screen(void) {
	raw(0, 0);
	dprintf(1, "\033[?1049h");
	ready();
	for (int i = 0; read(0, buffer, sizeof buffer) <= 0; i++) {
		if (i % 2 == 0) dprintf(1, "\033[2;1H%d", i);
		rest(500);
	}
}
static int key_is_there(void) {
	struct pollfd one = {0, POLLIN, 0};
	return poll(&one, 1, 0) > 0;
}
static void kbhit(void) {
	ready();
	while (!key_is_there()) rest(50);
}
static void kbhit_raw(void) { raw(1, 0); kbhit(); }
static void kbhit_slowly_raw(void) {
	raw(1, 0);
	ready();
	while (!key_is_there()) rest(2000);
}
static void counted(void) {
	int count = 0;
	ready();
	while (ioctl(0, FIONREAD, &count) == 0 && count == 0) rest(200);
}
static void opened_each_time(void) {
	ready();
	for (;;) {
		int fd = (int)MUST(open("/dev/tty", O_RDONLY | O_NONBLOCK));
		if (read(fd, buffer, sizeof buffer) > 0) return;
		close(fd);
		rest(300);
	}
}
static void *ticking(void *unused) {
	while (!key_is_there()) rest(100);
	exit(0);
	return unused;
}
static void worker_ticks(void) {
	pthread_t worker;
	pthread_create(&worker, NULL, ticking, NULL);
	ready();
	pthread_join(worker, NULL);
}
static void pipe_ticks(void) {
	int ends[2];
	struct pollfd one;
	MUST(pipe(ends));
	one = (struct pollfd){ends[0], POLLIN, 0};
	ready();
	while (!key_is_there()) poll(&one, 1, 200);
}

// --- a signal -------------------------------------------------------------------------------

static void each_100_ms(void) {
	struct itimerval every = {{0, 100000}, {0, 100000}};
	catch(SIGALRM);
	MUST(setitimer(ITIMER_REAL, &every, NULL));
}
static void alarm_in_pause(void) {
	each_100_ms();
	ready();
	for (;;) pause();
}
static void alarm_in_sleep(void) {
	each_100_ms();
	ready();
	for (;;) rest(60000);
}
static void alarm_in_read(void) {
	int ends[2];
	MUST(pipe(ends));
	each_100_ms();
	ready();
	for (;;) MUST(read(ends[0], buffer, 1));
}
static void timer_with_own_signal(void) {
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	struct itimerspec every = {{0, 100000000}, {0, 100000000}};
	catch(SIGRTMIN + 3);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &every, NULL));
	ready();
	for (;;) rest(60000);
}
static void tell_me(int signal) {
	MUST(fcntl(0, F_SETOWN, getpid()));
	if (signal != SIGIO) MUST(fcntl(0, F_SETSIG, signal));
	MUST(fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_ASYNC));
}
static void sigio_in_pause(void) { catch(SIGIO); tell_me(SIGIO); ready(); for (;;) pause(); }
static void sigio_in_sleep(void) { catch(SIGIO); tell_me(SIGIO); ready(); for (;;) rest(60000); }
static void sigusr_by_f_setsig(void) { catch(SIGUSR1); tell_me(SIGUSR1); ready(); for (;;) rest(60000); }
static sigset_t only(int signal) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return set;
}
static void sigwait_for_sigio(void) {
	sigset_t set = only(SIGIO);
	tell_me(SIGIO);
	ready();
	sigwaitinfo(&set, NULL);
}
static void signalfd_for_sigio(void) {
	sigset_t set = only(SIGIO);
	int fd = (int)MUST(signalfd(-1, &set, 0));
	tell_me(SIGIO);
	ready();
	MUST(read(fd, buffer, sizeof buffer));
}
static void signalfd_polled(void) {
	sigset_t set = only(SIGUSR2);
	struct pollfd one = {(int)MUST(signalfd(-1, &set, 0)), POLLIN, 0};
	tell_me(SIGUSR2);
	ready();
	MUST(poll(&one, 1, -1));
}

static int is_typed(void) {
	struct pollfd keyboard = {.fd = 0, .events = POLLIN};
	return poll(&keyboard, 1, 0) > 0;
}
static void every_second(void) {
	ready();
	while (!is_typed()) sleep(1);
}
static void running(void) {
	ready();
	while (!is_typed()) {
	}
}
static void receives_for_a_while(void) {
	int ends[2];
	struct timeval most = {.tv_usec = 200000};
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	MUST(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most));
	ready();
	while (!is_typed()) recv(ends[0], buffer, 1, 0);
}
static void child_of_another_session(void) {
	ready();
	while (!is_typed()) {
		if (MUST(fork()) == 0) {
			setsid();
			rest(300);
			_exit(0);
		}
		wait(NULL);
	}
}

int main(int count, char **arguments) {
	static const struct program programs[] = {
		{"nonblocking", nonblocking},
		{"nonblocking-raw", nonblocking_raw},
		{"vmin-0", vmin_0},
		{"full-screen", full_screen},
		{"kbhit", kbhit},
		{"kbhit-raw", kbhit_raw},
		{"kbhit-slowly-raw", kbhit_slowly_raw},
		{"counted", counted},
		{"opened-each-time", opened_each_time},
		{"worker-ticks", worker_ticks},
		{"pipe-ticks", pipe_ticks},
		{"alarm-in-pause", alarm_in_pause},
		{"alarm-in-sleep", alarm_in_sleep},
		{"alarm-in-read", alarm_in_read},
		{"own-timer-signal", timer_with_own_signal},
		{"sigio-in-pause", sigio_in_pause},
		{"sigio-in-sleep", sigio_in_sleep},
		{"f-setsig", sigusr_by_f_setsig},
		{"sigwait", sigwait_for_sigio},
		{"signalfd", signalfd_for_sigio},
		{"signalfd-polled", signalfd_polled},
		{"every-second", every_second},
		{"running", running},
		{"receive-timeout", receives_for_a_while},
		{"child-of-another-session", child_of_another_session},
		{NULL, NULL},
	};
	return run_by_name(programs, count > 1 ? arguments[1] : NULL);
}
