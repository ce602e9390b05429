// The launch block: the holder's configuration, validated as a whole.
#ifndef DIALTONE_BLOCK_H
#define DIALTONE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "secret.h"

#define BLOCK_MAX ((size_t)4 << 20)
#define BLOCK_RLIMITS 16
#define BLOCK_UNLIMITED UINT64_MAX
// In the order of the launch block.
enum block_limit { LIMIT_CPU, LIMIT_MEMORY, LIMIT_PROCESSES, LIMIT_FILES, LIMIT_FILE_BYTES, LIMIT_CORE, LIMIT_OUTPUT, BLOCK_LIMITS };
#define FLAG_NO_CONTROLLING_TERMINAL 1u
#define FLAG_ENDS_WITH_OWNER 2u
#define FLAG_REPORTS_LAUNCH 4u

struct block {
	const char *dir, *socket, *cwd, *program;
	char **arguments;   // NULL-terminated, in `pointers`
	char **environment; // NULL-terminated, in `pointers`
	char **pointers;
	size_t pointers_bytes;
	uint16_t cols, rows, xpixel, ypixel;
	bool limited[BLOCK_LIMITS];
	uint64_t limits[BLOCK_LIMITS];
	bool has_identity;
	uint32_t uid, gid;
	uint64_t quota, segment, wall_ms;
	uint32_t flags;
	bool has_umask;
	uint32_t umask;
	bool rlimited[BLOCK_RLIMITS]; // what the program inherits from its caller
	uint64_t soft[BLOCK_RLIMITS], hard[BLOCK_RLIMITS];
	bool has_nice;
	int nice;
	const uint8_t *mask; // what is to be masked, as in SECRETS; NULL: nothing
	size_t mask_bytes;
	const uint8_t *secret; // SECRET_BYTES of it; NULL: none is asked of clients
};

// 0 while records are missing, 1 once the block has ended, -1 if its lengths cannot be right. `*walked` remembers how far.
int block_complete(const uint8_t *bytes, size_t length, size_t *walked);

// Reads one block into the caller's BLOCK_MAX bytes; its length, or 0 with errno set. `*more`: something came behind it.
size_t block_read(int fd, uint8_t *bytes, bool *more);

// Strings of the block point into `bytes`, which is changed (terminators are put in). On refusal: false and why.
bool block_parse(uint8_t *bytes, size_t length, struct block *block, const char **why);

void block_free(struct block *block);

#endif
