// System calls by number. See calls.h.

#include "calls.h"

#include <sys/syscall.h>

static const struct meaning native[] = {
#define CALL(name, shape) {SYS_##name, shape, #name, false, false},
	CALL(read, READS) CALL(readv, READS) CALL(preadv2, READS) CALL(write, WRITES) CALL(writev, WRITES)
	CALL(pwritev2, WRITES) CALL(splice, SPLICES) CALL(sendfile, SENDS) CALL(ioctl, CONTROLS)
#ifdef SYS_poll
	CALL(poll, POLLS)
#endif
#ifdef SYS_ppoll
	CALL(ppoll, PPOLLS)
#endif
#ifdef SYS_select
	CALL(select, SELECTS)
#endif
#ifdef SYS_pselect6
	CALL(pselect6, PSELECTS)
#endif
#ifdef SYS_epoll_wait
	CALL(epoll_wait, EPOLLS)
#endif
	CALL(epoll_pwait, EPOLLS)
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, EPOLLS_2)
#endif
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter, RING)
#endif
	CALL(nanosleep, SLEEPS) CALL(clock_nanosleep, SLEEPS_ON_CLOCK)
	CALL(wait4, WAITS) CALL(waitid, WAITS) CALL(accept, ACCEPTS) CALL(accept4, ACCEPTS)
	CALL(recvfrom, RECEIVES) CALL(recvmsg, RECEIVES) CALL(recvmmsg, RECEIVES)
	CALL(sendto, RECEIVES) CALL(sendmsg, RECEIVES) CALL(sendmmsg, RECEIVES) CALL(connect, RECEIVES)
	CALL(futex, FUTEX)
#ifdef SYS_pause
	CALL(pause, SIGNALS)
#endif
	CALL(rt_sigsuspend, SIGNALS) CALL(rt_sigtimedwait, SIGNALS_IN_TIME)
	CALL(flock, LOCKS) CALL(fcntl, LOCKS) CALL(fsync, LOCKS) CALL(fdatasync, LOCKS)
#ifdef SYS_open
	CALL(open, LOCKS)
#endif
	CALL(openat, LOCKS) // of a named pipe
	CALL(msgrcv, LOCKS) CALL(msgsnd, LOCKS) CALL(semop, LOCKS) CALL(semtimedop, LOCKS)
	CALL(restart_syscall, RESTARTS)
#undef CALL
};

// 32-bit programs on a 64-bit kernel have the numbers of their own world (i386; those of 32-bit ARM agree but for
// epoll). Their pollfds are the same, and so are set bits on a little-endian machine.
static const struct meaning compat[] = {
#define CALL(number, shape, name) {number, shape, name, true, true},
#define CALL_TIME64(number, shape, name) {number, shape, name, true, false},
	CALL(3, READS, "read") CALL(145, READS, "readv") CALL(378, READS, "preadv2")
	CALL(4, WRITES, "write") CALL(146, WRITES, "writev") CALL(313, SPLICES, "splice")
	CALL(187, SENDS, "sendfile") CALL(239, SENDS, "sendfile64") CALL(54, CONTROLS, "ioctl")
	CALL(168, POLLS, "poll") CALL(309, PPOLLS, "ppoll") CALL_TIME64(414, PPOLLS, "ppoll")
	CALL(142, SELECTS, "select") CALL(308, PSELECTS, "pselect6") CALL_TIME64(413, PSELECTS, "pselect6")
#ifdef __aarch64__
	CALL(252, EPOLLS, "epoll_wait") CALL(346, EPOLLS, "epoll_pwait")
#else
	CALL(256, EPOLLS, "epoll_wait") CALL(319, EPOLLS, "epoll_pwait")
#endif
	CALL(426, RING, "io_uring_enter") CALL(162, SLEEPS, "nanosleep") CALL(267, SLEEPS_ON_CLOCK, "clock_nanosleep")
	CALL_TIME64(407, SLEEPS_ON_CLOCK, "clock_nanosleep")
	CALL(7, WAITS, "waitpid") CALL(114, WAITS, "wait4") CALL(284, WAITS, "waitid")
	CALL(240, FUTEX, "futex") CALL_TIME64(422, FUTEX, "futex")
	CALL(29, SIGNALS, "pause") CALL(179, SIGNALS, "rt_sigsuspend") CALL(0, RESTARTS, "restart_syscall")
#undef CALL
#undef CALL_TIME64
};

static const struct meaning unknown = {-1, UNKNOWN, NULL, false, false};

enum numbers { NATIVE, COMPAT, NEITHER };

// Hundreds of threads sleep behind one and the same instruction.
static struct {
	pid_t pid;
	uint64_t pointer;
	enum numbers numbers;
} last;

void calls_begin(void) {
	last.pid = 0;
}

// Which numbers a call uses is decided by the instruction that made it, not by the program: a 64-bit one may use
// int 0x80, and its stack may be anywhere.
static enum numbers numbers_of(pid_t pid, const struct call *call) {
#if defined(__x86_64__)
	unsigned char made_by[2];
	if (proc_memory(pid, call->pointer - sizeof made_by, made_by, sizeof made_by) != sizeof made_by)
		return NEITHER;
	if (made_by[0] == 0x0f && made_by[1] == 0x05) // syscall
		return NATIVE;
	return made_by[0] == 0xcd && made_by[1] == 0x80 ? COMPAT : NEITHER; // int 0x80: sysenter returns behind one, too
#elif defined(__aarch64__)
	uint32_t made_by;
	if (proc_memory(pid, call->pointer - sizeof made_by, &made_by, sizeof made_by) != sizeof made_by)
		return NEITHER;
	return made_by == 0xd4000001 ? NATIVE : made_by == 0xef000000 || made_by >> 16 == 0xdf00 ? COMPAT : NEITHER; // svc #0
#else
	(void)pid, (void)call;
	return NATIVE;
#endif
}

const struct meaning *call_meaning(pid_t pid, const struct call *call) {
	if (last.pid != pid || last.pointer != call->pointer) {
		last.numbers = numbers_of(pid, call);
		last.pid = pid;
		last.pointer = call->pointer;
	}
	enum numbers numbers = last.numbers;
	const struct meaning *table = numbers == COMPAT ? compat : native;
	size_t count = numbers == COMPAT ? sizeof compat / sizeof *compat : sizeof native / sizeof *native;
	for (size_t i = 0; numbers != NEITHER && i < count; i++)
		if (table[i].number == call->number)
			return &table[i];
	return &unknown;
}
