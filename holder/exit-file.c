// The blocks of `exit` are reserved when the session starts, so that a disk that
// is full by then cannot hide how the program ended.
#include "exit-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "os.h"

static const char *const names[2] = {"exit.tmp", "exit.closed.tmp"};

bool exit_file_reserve(struct exit_file *file, int dir) {
	*file = (struct exit_file){.dir = dir, .reserved = {-1, -1}, .next = 0};
	for (int i = 0; i < 2; i++) {
		file->reserved[i] = openat(dir, names[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		int error = file->reserved[i] < 0 ? errno : os_reserve(file->reserved[i], (off_t)EXIT_FILE_MAX);
		if (error == 0 || (file->reserved[i] >= 0 && error == EOPNOTSUPP)) continue;
		exit_file_release(file);
		errno = error;
		return false;
	}
	return true;
}

void exit_file_release(struct exit_file *file) {
	for (int i = file->next; i < 2; i++) {
		if (file->reserved[i] < 0) continue;
		unlinkat(file->dir, names[i], 0);
		close(file->reserved[i]);
		file->reserved[i] = -1;
	}
	file->next = 2;
}

int exit_file_write(struct exit_file *file, const char *json, size_t length) {
	if (file->next >= 2) return ENOENT;
	int fd = file->reserved[file->next];
	errno = 0;
	ssize_t put = pwrite(fd, json, length, 0);
	bool whole = put == (ssize_t)length && ftruncate(fd, (off_t)length) == 0;
	int error = whole ? 0 : errno != 0 ? errno : ENOSPC;
	if (fsync(fd) != 0 && error == 0) error = errno;
	// Half a record is no record; one that may not survive a power failure still is.
	if (whole && renameat(file->dir, names[file->next], file->dir, "exit") != 0) error = errno;
	close(fd);
	file->reserved[file->next++] = -1;
	if (fsync(file->dir) != 0 && error == 0) error = errno;
	return error;
}
