// What node has no function for: who is at the other end of a socket, and this
// process's own limits. Uses the stable C interface of node, declared here as far as
// it is needed, so that no headers have to be installed. src/pty/native.ts loads it.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 // of most architectures; unknown to the headers of Debian 12
#endif
#endif

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);

extern int napi_get_cb_info(napi_env, napi_callback_info, size_t *count, napi_value *values, napi_value *self, void **data);
extern int napi_get_value_int32(napi_env, napi_value, int32_t *);
extern int napi_create_int64(napi_env, int64_t, napi_value *);
extern int napi_create_function(napi_env, const char *name, size_t length, napi_callback, void *data, napi_value *);
extern int napi_set_named_property(napi_env, napi_value object, const char *name, napi_value);

static int64_t pid_at(int fd) {
#ifdef __linux__
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (int64_t)peer.pid : -1;
#else
	(void)fd;
	return -1;
#endif
}

static int64_t uid_at(int fd) {
#ifdef __linux__
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (int64_t)peer.uid : -1;
#else
	uid_t uid;
	gid_t gid;
	return getpeereid(fd, &uid, &gid) == 0 ? (int64_t)uid : -1;
#endif
}

// By a descriptor of the process, not by its number, which may be another's by now.
static int64_t alive_at(int fd) {
#if defined(__linux__) && defined(SO_PEERPIDFD) && defined(SYS_pidfd_send_signal)
	int process = -1;
	socklen_t size = sizeof process;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &size) != 0) return errno == ESRCH || errno == EINVAL ? 0 : -1;
	int64_t alive = syscall(SYS_pidfd_send_signal, process, 0, NULL, 0) == 0 || errno != ESRCH;
	close(process);
	return alive;
#else
	(void)fd;
	return -1;
#endif
}

static napi_value told_of(napi_env env, napi_callback_info info, int64_t (*look)(int fd)) {
	size_t count = 1;
	int32_t fd = -1;
	napi_value argument = NULL, result = NULL;
	napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
	if (count == 1) napi_get_value_int32(env, argument, &fd);
	napi_create_int64(env, look(fd), &result);
	return result;
}

// peerUid(fd), peerPid(fd): the user, and the process, that listens or that connected; -1 where the system does not tell.
static napi_value peer_uid(napi_env env, napi_callback_info info) { return told_of(env, info, uid_at); }
static napi_value peer_pid(napi_env env, napi_callback_info info) { return told_of(env, info, pid_at); }
// peerAlive(fd): whether the process that connected has not ended; -1 where the kernel does not tell (Linux before 6.5).
static napi_value peer_alive(napi_env env, napi_callback_info info) { return told_of(env, info, alive_at); }

// liftLimits(): the soft limits that would end this process or starve it become the hard ones.
static napi_value lift_limits(napi_env env, napi_callback_info info) {
	static const int resources[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS, RLIMIT_NOFILE};
	(void)env, (void)info;
	for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
		struct rlimit limit;
		if (getrlimit(resources[i], &limit) != 0) continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit(resources[i], &limit); // refused: then it stays as it is
	}
	return NULL;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports);
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
	napi_value function;
	if (napi_create_function(env, "peerUid", (size_t)-1, peer_uid, NULL, &function) == 0) napi_set_named_property(env, exports, "peerUid", function);
	if (napi_create_function(env, "peerPid", (size_t)-1, peer_pid, NULL, &function) == 0) napi_set_named_property(env, exports, "peerPid", function);
	if (napi_create_function(env, "peerAlive", (size_t)-1, peer_alive, NULL, &function) == 0) napi_set_named_property(env, exports, "peerAlive", function);
	if (napi_create_function(env, "liftLimits", (size_t)-1, lift_limits, NULL, &function) == 0)
		napi_set_named_property(env, exports, "liftLimits", function);
	return exports;
}
