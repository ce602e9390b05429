// How it ended, on disk: complete or not there.
#ifndef DIALTONE_EXIT_FILE_H
#define DIALTONE_EXIT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define EXIT_FILE_MAX ((size_t)8192)

// Two, because a session may end twice: first the program, later the last writer on its terminal.
struct exit_file {
	int dir;
	int reserved[2];
	int next;
};

bool exit_file_reserve(struct exit_file *file, int dir);
// Gives back what was reserved and not used.
void exit_file_release(struct exit_file *file);
// 0, or why it is not on disk for sure.
int exit_file_write(struct exit_file *file, const char *json, size_t length);

#endif
