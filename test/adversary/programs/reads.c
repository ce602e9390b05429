// Ways to wait for the terminal. All of them wait for input.
#include "adversary.h"

#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>

static void with_read(void) { ready(); MUST(read(0, buffer, sizeof buffer)); }
static void with_dup(void) {
	int fd = (int)MUST(fcntl(0, F_DUPFD, 400));
	close(0);
	ready();
	MUST(read(fd, buffer, sizeof buffer));
}
static void with_dev_tty(void) {
	int fd = (int)MUST(open("/dev/tty", O_RDONLY));
	MUST(dup2((int)MUST(open("/dev/null", O_RDONLY)), 0));
	ready();
	MUST(read(fd, buffer, sizeof buffer));
}
static struct iovec vector = {buffer, sizeof buffer};
static void with_readv(void) { ready(); MUST(readv(0, &vector, 1)); }
static void with_preadv2(void) { ready(); MUST(preadv2(0, &vector, 1, -1, 0)); }
static void with_splice(void) {
	int ends[2];
	MUST(pipe(ends));
	ready();
	MUST(splice(0, NULL, ends[1], NULL, 4096, 0));
}
static void with_sendfile(void) {
	int file = (int)MUST(memfd_create("copy", 0));
	ready();
	if (sendfile(file, 0, NULL, 4096) < 0) MUST(read(0, buffer, sizeof buffer)); // where a terminal can't be sent
}
static void with_select(void) {
	fd_set set;
	FD_ZERO(&set);
	FD_SET(0, &set);
	ready();
	MUST(select(1, &set, NULL, NULL, NULL));
}
static void with_select_1000(void) {
	fd_set set;
	int fd = (int)MUST(dup2(0, 1020));
	FD_ZERO(&set);
	FD_SET(fd, &set);
	ready();
	MUST(pselect(fd + 1, &set, NULL, NULL, NULL, NULL));
}
static void with_poll(void) {
	struct pollfd one = {0, POLLIN, 0};
	ready();
	MUST(poll(&one, 1, -1));
}
static void with_ppoll(void) {
	struct pollfd one = {0, POLLRDNORM, 0};
	ready();
	MUST(ppoll(&one, 1, NULL, NULL));
}
static int epoll_of(int fd) {
	struct epoll_event event = {.events = EPOLLIN};
	int set = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	return set;
}
static struct epoll_event event;
static void with_epoll(void) {
	int set = epoll_of(0);
	ready();
	MUST(epoll_wait(set, &event, 1, -1));
}
static void with_epoll_pwait2(void) {
	int set = epoll_of(0);
	ready();
	MUST(syscall(SYS_epoll_pwait2, set, &event, 1, NULL, NULL, 0));
}
static void with_nested_epoll(void) {
	int set = epoll_of(epoll_of(epoll_of(epoll_of(0))));
	ready();
	MUST(epoll_wait(set, &event, 1, -1));
}
// The set keeps the file although its number is closed, and now names another one.
static void with_closed_number(void) {
	int fd = (int)MUST(dup(0)), set = epoll_of(fd);
	close(fd);
	MUST(dup2((int)MUST(open("/dev/null", O_RDONLY)), fd));
	ready();
	MUST(epoll_wait(set, &event, 1, -1));
}
// Told only once of what is there: some of it stays unread while the program waits for more.
static void with_edges(void) {
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
	int set = (int)MUST(epoll_create1(0));
	raw(1, 0);
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, 0, &edge));
	ready();
	for (;;) {
		MUST(epoll_wait(set, &event, 1, -1));
		MUST(read(0, buffer, 1));
		dprintf(1, "GOT\r\n");
	}
}
// Poll is not told before five bytes are there.
static void with_vmin(void) {
	struct pollfd one = {0, POLLIN, 0};
	raw(5, 0);
	ready();
	for (;;) MUST(poll(&one, 1, -1)), MUST(read(0, buffer, sizeof buffer));
}

// --- rings ----------------------------------------------------------------------------

static int ring_with(unsigned flags, int operation, int fd) {
	struct io_uring_params with = {.flags = flags, .sq_thread_idle = 50};
	int ring = (int)MUST(syscall(SYS_io_uring_setup, 8, &with));
	char *queue = mmap(0, with.sq_off.array + with.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entry =
		mmap(0, with.sq_entries * sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	memset(entry, 0, sizeof *entry);
	entry->opcode = (uint8_t)operation;
	entry->fd = fd;
	if (operation == IORING_OP_POLL_ADD) {
		entry->poll32_events = POLLIN;
		entry->len = IORING_POLL_ADD_MULTI;
	} else {
		entry->addr = (uint64_t)(uintptr_t)buffer;
		entry->len = sizeof buffer;
	}
	((unsigned *)(void *)(queue + with.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(void *)(queue + with.sq_off.tail), 1, __ATOMIC_RELEASE);
	return ring;
}
static void with_ring(void) {
	int ring = ring_with(0, IORING_OP_READ, 0);
	ready();
	MUST(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
}
static void with_ring_poll(void) {
	int ring = ring_with(0, IORING_OP_POLL_ADD, 0);
	ready();
	MUST(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
}
// The request is given, and its owner sleeps elsewhere until it is woken by an event counter.
static void with_ring_event(void) {
	int ring = ring_with(0, IORING_OP_READ, 0), counter = (int)MUST(eventfd(0, 0));
	MUST(syscall(SYS_io_uring_register, ring, IORING_REGISTER_EVENTFD, &counter, 1));
	MUST(syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0));
	ready();
	MUST(read(counter, buffer, 8));
}
// Never enters the kernel with it, and looks at the answers every few seconds.
static void with_ring_thread(void) {
	ring_with(IORING_SETUP_SQPOLL, IORING_OP_READ, 0);
	ready();
	for (;;) rest(5000);
}

// --- Linux aio ----------------------------------------------------------------------------

// The terminal can't be read later: io_submit itself waits.
static void with_aio(void) {
	aio_context_t context = 0;
	struct iocb request = {
		.aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uint64_t)(uintptr_t)buffer, .aio_nbytes = sizeof buffer};
	struct iocb *list[] = {&request};
	MUST(syscall(SYS_io_setup, 4, &context));
	ready();
	MUST(syscall(SYS_io_submit, context, 1, list));
}

// --- other worlds ----------------------------------------------------------------------------

static void on_low_stack(void) {
	// Every thread of a program may have its stack below 4 GiB.
	char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (stack == MAP_FAILED) MUST(-1);
	ready();
#ifdef __x86_64__
	long result;
	__asm__ volatile("movq %%rsp, %%r12\n\tmovq %1, %%rsp\n\tsyscall\n\tmovq %%r12, %%rsp"
	                 : "=a"(result)
	                 : "r"(stack + (1 << 20) - 64), "a"((long)SYS_read), "D"(0L), "S"(buffer), "d"(sizeof buffer)
	                 : "rcx", "r11", "r12", "memory");
	MUST(result);
#endif
}
static void on_memfd_stack(void) {
	int file = (int)MUST(memfd_create("stack", 0));
	MUST(ftruncate(file, 1 << 20));
	char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (stack == MAP_FAILED) MUST(-1);
	ready();
	struct pollfd *set = (struct pollfd *)(void *)(stack + 4096);
	*set = (struct pollfd){0, POLLIN, 0};
	MUST(poll(set, 1, -1));
}
// 64-bit programs may make 32-bit calls; 3 is read there, and close here.
static void by_int_0x80(void) {
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED) MUST(-1);
	ready();
#ifdef __x86_64__
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(3L), "b"(0L), "c"(low), "d"(4096L) : "r8", "r9", "r10", "r11", "memory");
	if (result < 0) dprintf(1, "CANNOT int 0x80\r\n");
#endif
}

// --- in good company ----------------------------------------------------------------------------

static void *reading(void *unused) { ready(); MUST(read(0, buffer, sizeof buffer)); return unused; }
static void *forever(void *lock) { pthread_mutex_lock(lock); return NULL; }
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static void start(void *(*body)(void *), void *argument) {
	pthread_t thread;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	errno = pthread_create(&thread, &small, body, argument);
	if (errno != 0) MUST(-1);
}
static void in_worker(void) {
	pthread_t worker;
	pthread_create(&worker, NULL, reading, NULL);
	pthread_join(worker, NULL);
}
static void among_300_threads(void) {
	pthread_mutex_lock(&taken);
	for (int i = 0; i < 300; i++) start(forever, &taken);
	start(reading, NULL);
	pthread_mutex_lock(&taken);
}
static void main_of_300_threads(void) {
	pthread_mutex_lock(&taken);
	for (int i = 0; i < 300; i++) start(forever, &taken);
	reading(NULL);
}
static void after_300_pipes(void) {
	static struct pollfd set[301];
	int ends[2];
	for (int i = 0; i < 300; i++) {
		MUST(pipe(ends));
		set[i] = (struct pollfd){ends[0], POLLIN, 0};
	}
	set[300] = (struct pollfd){0, POLLIN, 0};
	ready();
	MUST(poll(set, 301, -1));
}
static void after_900_in_epoll(void) {
	int set = (int)MUST(epoll_create1(0)), ends[2];
	struct epoll_event one = {.events = EPOLLIN};
	for (int i = 0; i < 450; i++) {
		MUST(pipe(ends));
		MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &one));
	}
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, 0, &one));
	ready();
	MUST(epoll_wait(set, &event, 1, -1));
}
static void behind_many_descriptors(void) {
	for (int i = 0; i < 900; i++) MUST(dup(1));
	int fd = (int)MUST(dup(0));
	ready();
	MUST(read(fd, buffer, sizeof buffer));
}
static void behind_60_sleepers(void) {
	for (int i = 0; i < 60; i++)
		if (MUST(fork()) == 0) {
			rest(60000);
			_exit(0);
		}
	ready();
	MUST(read(0, buffer, sizeof buffer));
}
static void child_of_60_sleepers(void) {
	for (int i = 0; i < 60; i++)
		if (MUST(fork()) == 0) {
			if (i == 59) reading(NULL);
			rest(60000);
			_exit(0);
		}
	for (;;) pause();
}
static void in_vfork_child(void) {
	if (vfork() == 0) {
		ready();
		syscall(SYS_read, 0, buffer, sizeof buffer);
		_exit(0);
	}
}
// What reads went on reading when it was sent to the background.
static void in_the_background(void) {
	pid_t child = (pid_t)MUST(fork());
	if (child == 0) {
		reading(NULL);
		_exit(0);
	}
	rest(300);
	signal(SIGTTOU, SIG_IGN);
	setpgid(0, 0);
	MUST(tcsetpgrp(1, getpgrp()));
	for (;;) rest(60000);
}
// The terminal was passed to a process that left the session, whose parent waits for its answer.
static void by_a_helper(void) {
	int pair[2];
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	if (MUST(fork()) == 0) {
		setsid();
		reading(NULL);
		_exit(0);
	}
	MUST(recv(pair[0], buffer, 1, 0));
}
// A second fork: the reader is no child of who waits, and the one between has ended.
static void by_an_orphan(void) {
	int ends[2];
	MUST(pipe(ends));
	if (MUST(fork()) == 0) {
		if (fork() != 0) _exit(0);
		setsid();
		reading(NULL);
		_exit(0);
	}
	wait(NULL);
	close(ends[1]);
	for (;;) rest(60000);
}

static int late_set;
static void *wait_in_late_set(void *unused) {
	struct epoll_event event;
	epoll_wait(late_set, &event, 1, -1);
	return unused;
}
// The set gets the terminal while its waiter sleeps on.
static void added_late(void) {
	pthread_t worker;
	struct epoll_event event = {.events = EPOLLIN};
	late_set = (int)MUST(epoll_create1(0));
	pthread_create(&worker, NULL, wait_in_late_set, NULL);
	rest(700);
	MUST(epoll_ctl(late_set, EPOLL_CTL_ADD, 0, &event));
	ready();
	pthread_join(worker, NULL);
	rest(100000);
}

int main(int count, char **arguments) {
	static const struct program programs[] = {
		{"read", with_read},
		{"dup", with_dup},
		{"dev-tty", with_dev_tty},
		{"readv", with_readv},
		{"preadv2", with_preadv2},
		{"splice", with_splice},
		{"sendfile", with_sendfile},
		{"select", with_select},
		{"select-1020", with_select_1000},
		{"poll", with_poll},
		{"ppoll", with_ppoll},
		{"epoll", with_epoll},
		{"epoll_pwait2", with_epoll_pwait2},
		{"nested-epoll", with_nested_epoll},
		{"closed-number", with_closed_number},
		{"added-late", added_late},
		{"edges", with_edges},
		{"vmin", with_vmin},
		{"ring", with_ring},
		{"ring-poll", with_ring_poll},
		{"ring-event", with_ring_event},
		{"ring-thread", with_ring_thread},
		{"aio", with_aio},
		{"low-stack", on_low_stack},
		{"memfd-stack", on_memfd_stack},
		{"int80", by_int_0x80},
		{"worker", in_worker},
		{"among-300-threads", among_300_threads},
		{"main-of-300-threads", main_of_300_threads},
		{"after-300-pipes", after_300_pipes},
		{"after-900-in-epoll", after_900_in_epoll},
		{"many-descriptors", behind_many_descriptors},
		{"60-sleepers", behind_60_sleepers},
		{"child-of-60-sleepers", child_of_60_sleepers},
		{"vfork", in_vfork_child},
		{"background", in_the_background},
		{"helper", by_a_helper},
		{"orphan", by_an_orphan},
		{NULL, NULL},
	};
	return run_by_name(programs, count > 1 ? arguments[1] : NULL);
}
