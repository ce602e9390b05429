// The system call filter: a table of what is refused, and a few rules on arguments.
//
// Namespaces and missing capabilities refuse most of this already. It is refused here as well because each was the way
// into the kernel of some past exploit, or lets a program type into a terminal or leave set-uid files behind.
// What the table does not name is allowed: programs must run as they do outside, debuggers included.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define X32 0x40000000u // the other numbering of the same architecture
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

// By number where the C library's headers may be older than the kernel; the same on all architectures from 424 on.
enum {
	NR_OPEN_TREE = 428, NR_MOVE_MOUNT = 429, NR_FSOPEN = 430, NR_FSCONFIG = 431, NR_FSMOUNT = 432, NR_FSPICK = 433,
	NR_IO_URING_SETUP = 425, NR_IO_URING_ENTER = 426, NR_IO_URING_REGISTER = 427, NR_CLONE3 = 435, NR_OPENAT2 = 437,
	NR_MOUNT_SETATTR = 442, NR_QUOTACTL_FD = 443, NR_FCHMODAT2 = 452, NR_OPEN_TREE_ATTR = 467,
};

static const struct {
	int number, error;
} refused[] = {
	// Of clone3 and openat2 the arguments are in memory, where a filter cannot see them; libraries fall back to the older ones.
	{NR_CLONE3, ENOSYS}, {NR_OPENAT2, ENOSYS},
	{NR_IO_URING_SETUP, ENOSYS}, {NR_IO_URING_ENTER, ENOSYS}, {NR_IO_URING_REGISTER, ENOSYS},
	// Mounts and namespaces.
	{SYS_mount, EPERM}, {SYS_umount2, EPERM}, {SYS_pivot_root, EPERM}, {SYS_chroot, EPERM}, {SYS_setns, EPERM},
	{NR_OPEN_TREE, EPERM}, {NR_MOVE_MOUNT, EPERM}, {NR_FSOPEN, EPERM}, {NR_FSCONFIG, EPERM}, {NR_FSMOUNT, EPERM},
	{NR_FSPICK, EPERM}, {NR_MOUNT_SETATTR, EPERM}, {NR_OPEN_TREE_ATTR, EPERM},
	{SYS_open_by_handle_at, EPERM}, {SYS_fanotify_init, EPERM},
	{SYS_quotactl, EPERM}, {NR_QUOTACTL_FD, EPERM}, {SYS_swapon, EPERM}, {SYS_swapoff, EPERM},
	// Keys belong to a user, not to a namespace.
	{SYS_add_key, EPERM}, {SYS_request_key, EPERM}, {SYS_keyctl, EPERM},
	// Large parts of the kernel that few programs need.
	{SYS_bpf, EPERM}, {SYS_perf_event_open, EPERM}, {SYS_userfaultfd, EPERM}, {SYS_syslog, EPERM}, {SYS_acct, EPERM},
	{SYS_vhangup, EPERM},
	// The machine.
	{SYS_reboot, EPERM}, {SYS_kexec_load, EPERM}, {SYS_init_module, EPERM}, {SYS_finit_module, EPERM}, {SYS_delete_module, EPERM},
	{SYS_settimeofday, EPERM}, {SYS_clock_settime, EPERM}, {SYS_clock_adjtime, EPERM}, {SYS_adjtimex, EPERM},
	{SYS_sethostname, EPERM}, {SYS_setdomainname, EPERM},
#ifdef SYS_kexec_file_load
	{SYS_kexec_file_load, EPERM},
#endif
#ifdef SYS_iopl
	{SYS_iopl, EPERM}, {SYS_ioperm, EPERM},
#endif
};

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define NEW_TIME 0x80u // of unshare only: in clone it is a part of the signal's number
#define SET_ID (S_ISUID | S_ISGID)

// Arguments are of 64 bits, but of these the kernel reads 32: comparing more would let a program hide a value.
enum test { ANY_BIT, EQUAL };
static const struct {
	int number, argument;
	enum test test;
	uint32_t value;
	int error;
} conditions[] = {
	// TIOCSTI types into the terminal, TIOCLINUX pastes into a console, the others replace the terminal's driver or the console.
	{SYS_ioctl, 1, EQUAL, TIOCSTI, EPERM}, {SYS_ioctl, 1, EQUAL, TIOCLINUX, EPERM},
	{SYS_ioctl, 1, EQUAL, TIOCSETD, EPERM}, {SYS_ioctl, 1, EQUAL, TIOCCONS, EPERM},
	{SYS_clone, 0, ANY_BIT, NAMESPACES, EPERM}, {SYS_unshare, 0, ANY_BIT, NAMESPACES | NEW_TIME, EPERM},
	// A set-uid file in the workspace works outside of the sandbox too.
	{SYS_fchmod, 1, ANY_BIT, SET_ID, EPERM}, {SYS_fchmodat, 2, ANY_BIT, SET_ID, EPERM}, {NR_FCHMODAT2, 2, ANY_BIT, SET_ID, EPERM},
	{SYS_openat, 3, ANY_BIT, SET_ID, EPERM}, {SYS_mknodat, 2, ANY_BIT, SET_ID, EPERM},
#ifdef SYS_open
	{SYS_chmod, 1, ANY_BIT, SET_ID, EPERM}, {SYS_open, 2, ANY_BIT, SET_ID, EPERM}, {SYS_creat, 1, ANY_BIT, SET_ID, EPERM},
	{SYS_mknod, 1, ANY_BIT, SET_ID, EPERM},
#endif
};

static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

struct program {
	struct sock_filter steps[512];
	unsigned short length;
};

static void step(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
	program->steps[program->length++] = (struct sock_filter)BPF_JUMP(code, value, yes, no);
}

static void load(struct program *program, size_t offset) { step(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }

static void load_argument(struct program *program, int which) {
	load(program, offsetof(struct seccomp_data, args) + (size_t)which * sizeof(uint64_t)); // its lower half: both are little-endian
}

static void refuse(struct program *program, int error) {
	step(program, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0);
}

// What follows, `count` steps, is for this call only. Everything returns or loads the number again.
static void only_for(struct program *program, int number, uint8_t count) {
	step(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, count);
}

static void add_conditions(struct program *program) {
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
		uint16_t test = conditions[i].test == EQUAL ? BPF_JMP | BPF_JEQ | BPF_K : BPF_JMP | BPF_JSET | BPF_K;
		only_for(program, conditions[i].number, 4);
		load_argument(program, conditions[i].argument);
		step(program, test, conditions[i].value, 0, 1);
		refuse(program, conditions[i].error);
		load(program, offsetof(struct seccomp_data, nr));
	}
}

static void add_sockets(struct program *program) {
	uint8_t count = sizeof families / sizeof *families;
	only_for(program, SYS_socket, (uint8_t)(count + 7));
	load_argument(program, 0);
	for (uint8_t i = 0; i < count; i++)
		step(program, BPF_JMP | BPF_JEQ | BPF_K, families[i], (uint8_t)(count - i), 0);
	refuse(program, EAFNOSUPPORT);
	// Of netlink only the list of interfaces and routes, which the C library's resolver asks for.
	step(program, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3);
	load_argument(program, 2);
	step(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	refuse(program, EPERM);
	step(program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

int filter_install(void) {
	static struct program program;
	load(&program, offsetof(struct seccomp_data, arch));
	step(&program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	refuse(&program, ENOSYS); // by 32-bit numbers every rule below could be evaded
	load(&program, offsetof(struct seccomp_data, nr));
#ifdef X32
	step(&program, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	refuse(&program, ENOSYS);
#endif
	add_conditions(&program);
	add_sockets(&program);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		only_for(&program, refused[i].number, 1);
		refuse(&program, refused[i].error);
	}
	step(&program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){.len = program.length, .filter = program.steps});
}

#else

int filter_install(void) {
	errno = ENOSYS; // fails closed: numbers of this architecture are in no table here
	return -1;
}

#endif

// As in linux/landlock.h from 6.12 on.
struct landlock_scopes {
	uint64_t files, network, scoped;
};
#define SCOPE_ABSTRACT_SOCKETS 1u
#define SCOPE_SIGNALS 2u
#define NR_LANDLOCK_CREATE 444
#define NR_LANDLOCK_RESTRICT 446

void scope_install(void) {
	struct landlock_scopes scopes = {.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS};
	int rules = (int)syscall(NR_LANDLOCK_CREATE, &scopes, sizeof scopes, 0);
	if (rules < 0) return;
	syscall(NR_LANDLOCK_RESTRICT, rules, 0);
	close(rules);
}
