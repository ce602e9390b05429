// A logout, a cleaner of temporary files or a person may remove the socket, or the
// directory it is in. The holder looks for it when it is told to (SIGUSR1: a daemon that
// cannot find it), and by itself: every few seconds while it is awake anyway, every few
// minutes otherwise. inotify would need an instance for each holder, and a user has 128.
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os.h"

#define LOOK_US 5000000
#define IDLE_LOOK_US 300000000

static int bind_at(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0) return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	bool bound = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
	if (bound && chmod(path, 0600) == 0 && listen(fd, 64) == 0) return fd;
	int error = errno;
	if (bound) unlink(path);
	close(fd);
	errno = error;
	return -1;
}

static bool is_at(const struct listener *listener, const char *path) {
	struct stat found;
	return lstat(path, &found) == 0 && found.st_dev == listener->device && found.st_ino == listener->inode;
}

static void remember(struct listener *listener, const char *path) {
	struct stat made = {.st_ino = 0};
	lstat(path, &made);
	listener->device = made.st_dev, listener->inode = made.st_ino;
}

// Its directory, and the one above: where paths are long both are in /tmp. Only ours is good enough.
static bool make_directory(const char *path) {
	char name[sizeof((struct listener *)0)->path];
	struct stat found;
	snprintf(name, sizeof name, "%s", path);
	char *end = strrchr(name, '/');
	*end = '\0';
	char *above = strrchr(name, '/');
	if (above != NULL && above != name) {
		*above = '\0';
		mkdir(name, 0700);
		*above = '/';
	}
	mkdir(name, 0700);
	return lstat(name, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 022) == 0;
}

// Beside its place first, so that no moment is without one and what is in its place is replaced.
static int bind_anew(struct listener *listener) {
	char beside[sizeof listener->path + 16];
	snprintf(beside, sizeof beside, "%s", listener->path);
	snprintf(strrchr(beside, '/') + 1, 16, ".%d", (int)getpid());
	unlink(beside);
	int fd = bind_at(beside);
	if (fd < 0) return -1;
	remember(listener, beside);
	if (rename(beside, listener->path) == 0) return fd;
	unlink(beside);
	close(fd);
	return -1;
}

static void look(void *context) {
	struct listener *listener = context;
	struct stat session;
	listener->next = -1;
	if (is_at(listener, listener->path)) return;
	// Without the session's own directory there is nothing to come back to.
	if (fstat(listener->directory, &session) != 0 || session.st_nlink == 0) return;
	if (make_directory(listener->path)) listener->next = bind_anew(listener);
}

int listener_open(struct listener *listener, const char *path, int directory) {
	*listener = (struct listener){.fd = bind_at(path), .directory = directory, .looked_at = now_us(), .next = -1};
	if (listener->fd < 0) return errno;
	snprintf(listener->path, sizeof listener->path, "%s", path);
	remember(listener, path);
	listener->work.run = look, listener->work.context = listener;
	return 0;
}

bool listener_step(struct listener *listener, int64_t now) {
	if (listener->work.state == WORK_NONE && (listener->due || now >= listener->looked_at + LOOK_US)) {
		listener->due = false;
		listener->looked_at = now;
		if (!work_do(&listener->work)) return false;
	}
	if (listener->work.state == WORK_DONE) {
		listener->work.state = WORK_NONE;
		if (listener->next >= 0) close(listener->fd), listener->fd = listener->next;
		listener->next = -1;
	}
	return true;
}

int64_t listener_next(const struct listener *listener) {
	if (listener->work.state == WORK_RUNNING) return -1; // it wakes the loop
	return listener->due || listener->work.state == WORK_DONE ? 1 : listener->looked_at + IDLE_LOOK_US;
}
