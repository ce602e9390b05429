// See secret.h. The program can read the file, as anything of its user's can: that
// it does not get in with it is accept.c's part.
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#define FILE_NAME "secret"

bool secret_keep(int dir, const uint8_t *secret) {
	int fd = openat(dir, FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) return false;
	ssize_t put = write(fd, secret, SECRET_BYTES);
	int error = put < 0 ? errno : ENOSPC;
	close(fd);
	if (put == SECRET_BYTES) return true;
	secret_remove(dir);
	errno = error;
	return false;
}

void secret_remove(int dir) { unlinkat(dir, FILE_NAME, 0); }

bool secret_is(const uint8_t *secret, const uint8_t *given) {
	uint8_t different = 0;
	for (size_t i = 0; i < SECRET_BYTES; i++) different |= secret[i] ^ given[i];
	return different == 0;
}
