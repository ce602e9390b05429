// What in /etc is not readable by everybody: password hashes, host keys, passwords of services.
//
// Root owns these files, and an owner needs no capability to read them. By their mode and not by a list of names, so
// that what some package keeps there is found too. Here and not in the daemon: it is 1,600 files on an ordinary system.
// Only where disown.c cannot hide them all at once: it takes 4 ms, and bwrap 0.2 ms for each.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox.h"

#define PRIVATE "@private"
#define DEPTH_MOST 16

struct list {
	char **items;
	size_t count, capacity;
};

static bool add(struct list *list, char *item) {
	if (list->count + 1 >= list->capacity) {
		size_t capacity = list->capacity == 0 ? 256 : list->capacity * 2;
		char **grown = realloc(list->items, capacity * sizeof *grown);
		if (grown == NULL) return false;
		list->items = grown, list->capacity = capacity;
	}
	list->items[list->count++] = item;
	list->items[list->count] = NULL;
	return item != NULL;
}

static bool cover(struct list *list, const char *path, bool directory) {
	if (!directory && !(add(list, "--ro-bind") && add(list, "/dev/null"))) return false;
	if (directory && !(add(list, "--perms") && add(list, "0755") && add(list, "--tmpfs"))) return false;
	return add(list, strdup(path));
}

// What we could not read ourselves, nobody in the sandbox can: it has our users and fewer capabilities.
static bool walk(struct list *list, int parent, const char *name, const char *path, int depth) {
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) return errno == EACCES || errno == ENOENT || errno == ENOTDIR;
	DIR *directory = fdopendir(fd);
	if (directory == NULL) {
		close(fd);
		return false;
	}
	bool ok = depth < DEPTH_MOST;
	struct dirent *entry;
	while (ok && (entry = readdir(directory)) != NULL) {
		struct stat is;
		char below[4096];
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || entry->d_type == DT_LNK) continue;
		if (fstatat(fd, entry->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(is.st_mode)) continue;
		ok = snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below;
		bool everybodys = (is.st_mode & S_IROTH) != 0 && (!S_ISDIR(is.st_mode) || (is.st_mode & S_IXOTH) != 0);
		if (!ok) break;
		if (!everybodys) ok = faccessat(fd, entry->d_name, R_OK, AT_EACCESS) != 0 || cover(list, below, S_ISDIR(is.st_mode));
		else if (S_ISDIR(is.st_mode)) ok = walk(list, fd, entry->d_name, below, depth + 1);
	}
	closedir(directory);
	return ok;
}

char **without_private_files(char **arguments) {
	struct list list = {0};
	bool before_command = true;
	for (; *arguments != NULL; arguments++) {
		before_command = before_command && strcmp(*arguments, "--") != 0;
		bool private = before_command && strcmp(*arguments, PRIVATE) == 0;
		if (private && disown("/etc")) continue;
		if (private ? !walk(&list, AT_FDCWD, "/etc", "/etc", 0) : !add(&list, *arguments)) return NULL;
	}
	return list.items;
}
