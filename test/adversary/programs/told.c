// Programs that wait for input, although they seem to write, to be stopped, or to have input that they have not read.
#include "adversary.h"

#include <linux/io_uring.h>

// Without Ctrl+S: nothing stops output.
static void raw_without_stop(void) {
	struct termios modes;
	raw(1, 0);
	MUST(tcgetattr(0, &modes));
	modes.c_iflag &= ~(unsigned)IXON;
	MUST(tcsetattr(0, TCSANOW, &modes));
}
static void *reads(void *unused) {
	while (read(0, buffer, 100) > 0) {
	}
	return unused;
}
// A loop that would be told when it can write, and was told already; another thread reads.
static void wait_for_output(void) {
	struct epoll_event event = {.events = EPOLLOUT | EPOLLET};
	int set = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, 1, &event));
	MUST(epoll_wait(set, &event, 1, -1));
	ready();
	for (;;) epoll_wait(set, &event, 1, -1);
}
static void polled_for_output(void) {
	pthread_t reader;
	pthread_create(&reader, NULL, reads, NULL);
	wait_for_output();
}
static void polled_for_output_raw(void) {
	raw_without_stop();
	polled_for_output();
}
// Ctrl+S was a key before; now it stops output.
static void polled_for_output_after_a_key(void) {
	struct termios before;
	MUST(tcgetattr(0, &before));
	raw_without_stop();
	ready();
	MUST(read(0, buffer, 1));
	MUST(tcsetattr(0, TCSANOW, &before));
	polled_for_output();
}
static void on_signal(int signal) {
	(void)signal;
	if (read(0, buffer, 10) < 0) return;
}
static void polled_for_output_sigio(void) {
	struct sigaction action = {.sa_handler = on_signal};
	raw_without_stop();
	MUST(sigaction(SIGIO, &action, NULL));
	MUST(fcntl(0, F_SETOWN, getpid()));
	MUST(fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_ASYNC | O_NONBLOCK));
	wait_for_output();
}
static void spliced_to_the_terminal(void) {
	int ends[2];
	struct pollfd one = {0, POLLIN, 0};
	MUST(pipe(ends));
	if (MUST(fork()) == 0) {
		close(ends[1]);
		while (splice(ends[0], NULL, 1, NULL, 4096, 0) > 0) {
		}
		_exit(0);
	}
	close(ends[0]);
	raw_without_stop();
	MUST(write(ends[1], "READY\r\n? ", 9));
	for (;;)
		if (poll(&one, 1, 5000) > 0) MUST(read(0, buffer, 10));
}
static void stopped_beside_a_stray(void) {
	if (MUST(fork()) == 0) {
		setsid();
		reads(NULL);
	}
	rest(100);
	ready();
	raise(SIGSTOP);
	rest(100000);
}

// --- takes one byte each time it is told of more, and is not told of the others again -------------------

static int edges(void) {
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int set = (int)MUST(epoll_create1(0));
	raw(1, 0);
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, 0, &event));
	ready();
	return set;
}
static void take_one(int set) {
	struct epoll_event event;
	if (epoll_wait(set, &event, 1, 0) == 1) MUST(read(0, buffer, 1));
}
static void edges_polled(void) {
	struct pollfd one = {edges(), POLLIN, 0};
	for (;;) {
		MUST(poll(&one, 1, -1));
		take_one(one.fd);
	}
}
static void edges_selected(void) {
	int set = edges();
	for (;;) {
		fd_set bits;
		FD_ZERO(&bits);
		FD_SET(set, &bits);
		MUST(select(set + 1, &bits, NULL, NULL, NULL));
		take_one(set);
	}
}
static void edges_of_a_ring(void) {
	struct io_uring_params about = {0};
	int ring = (int)MUST(syscall(SYS_io_uring_setup, 4, &about));
	int modes = PROT_READ | PROT_WRITE, kind = MAP_SHARED | MAP_POPULATE;
	char *queue = mmap(NULL, about.sq_off.array + about.sq_entries * 4, modes, kind, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *slots = mmap(NULL, about.sq_entries * sizeof *slots, modes, kind, ring, IORING_OFF_SQES);
	char *done = mmap(NULL, about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe), modes, kind, ring, IORING_OFF_CQ_RING);
	unsigned *head = (unsigned *)(done + about.cq_off.head), *tail = (unsigned *)(done + about.cq_off.tail);
	raw(1, 0);
	*slots = (struct io_uring_sqe){.opcode = IORING_OP_POLL_ADD, .fd = 0, .poll32_events = POLLIN, .len = IORING_POLL_ADD_MULTI};
	((unsigned *)(queue + about.sq_off.array))[0] = 0;
	__sync_synchronize();
	*(unsigned *)(queue + about.sq_off.tail) = 1;
	ready();
	for (unsigned given = 1;; given = 0) {
		MUST(syscall(SYS_io_uring_enter, ring, given, 1, IORING_ENTER_GETEVENTS, NULL, 0));
		for (; *head != *tail; (*head)++) MUST(read(0, buffer, 1));
		__sync_synchronize();
	}
}

int main(int count, char **arguments) {
	static const struct program programs[] = {
		{"polled-for-output", polled_for_output},
		{"polled-for-output-raw", polled_for_output_raw},
		{"polled-for-output-after-a-key", polled_for_output_after_a_key},
		{"polled-for-output-sigio", polled_for_output_sigio},
		{"spliced-to-the-terminal", spliced_to_the_terminal},
		{"stopped-beside-a-stray", stopped_beside_a_stray},
		{"edges-polled", edges_polled},
		{"edges-selected", edges_selected},
		{"edges-of-a-ring", edges_of_a_ring},
		{NULL, NULL},
	};
	return run_by_name(programs, count > 1 ? arguments[1] : NULL);
}
