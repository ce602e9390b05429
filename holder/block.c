// Reads and checks the launch block. One table says what may come, how long it
// is and how often; nothing is believed that the table did not admit.
#include "block.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"

#define HEADER ((size_t)8)
#define SOCKET_PATH_MAX 104

enum tag {
	END, PROTOCOL, DIR_, SOCKET_, ARG, ENV, CWD, SIZE, LIMIT, IDENTITY, QUOTA, SEGMENT, PROGRAM, FLAGS, WALL, UMASK, RLIMIT, NICE, SECRET, MASK,
	TAGS
};

enum shape { FIXED, STRING, ABSOLUTE, BYTES };

static const struct {
	enum shape shape;
	uint32_t size; // of a FIXED record
	bool repeats, required;
} records[TAGS] = {
	[PROTOCOL] = {FIXED, 4, false, true},
	[DIR_] = {ABSOLUTE, 0, false, true},
	[SOCKET_] = {ABSOLUTE, 0, false, true},
	[ARG] = {STRING, 0, true, true},
	[ENV] = {STRING, 0, true, false},
	[CWD] = {ABSOLUTE, 0, false, true},
	[SIZE] = {FIXED, 8, false, false},
	[LIMIT] = {FIXED, 16, true, false},
	[IDENTITY] = {FIXED, 8, false, false},
	[QUOTA] = {FIXED, 8, false, false},
	[SEGMENT] = {FIXED, 8, false, false},
	[PROGRAM] = {STRING, 0, false, false},
	[FLAGS] = {FIXED, 4, false, false},
	[WALL] = {FIXED, 8, false, false},
	[UMASK] = {FIXED, 4, false, false},
	[RLIMIT] = {FIXED, 24, true, false},
	[NICE] = {FIXED, 4, false, false},
	[SECRET] = {FIXED, SECRET_BYTES, false, false},
	[MASK] = {BYTES, 0, false, false},
};

int block_complete(const uint8_t *bytes, size_t length, size_t *walked) {
	while (length - *walked >= HEADER) {
		uint16_t tag = get16(bytes + *walked);
		uint32_t size = get32(bytes + *walked + 4);
		if (size > BLOCK_MAX - HEADER - *walked) return -1;
		if (length - *walked - HEADER < size) return 0;
		*walked += HEADER + size;
		if (tag == END) return 1;
	}
	return 0;
}

size_t block_read(int fd, uint8_t *bytes, bool *more) {
	size_t length = 0, walked = 0;
	for (;;) {
		ssize_t got = read(fd, bytes + length, BLOCK_MAX - length);
		if (got < 0 && errno == EINTR) continue;
		if (got < 0) return 0;
		length += (size_t)got;
		int complete = block_complete(bytes, length, &walked);
		*more = length > walked;
		if (complete == 1) return length;
		if (complete < 0 || got == 0 || length == BLOCK_MAX) {
			errno = EINVAL;
			return 0;
		}
	}
}

// Why this one record is not acceptable, or NULL. The value is not terminated yet.
static const char *refusal(uint16_t tag, const uint8_t *value, uint32_t size) {
	if (tag >= TAGS) return "unknown record";
	if (records[tag].shape == FIXED) return size == records[tag].size ? NULL : "a record has the wrong length";
	if (records[tag].shape == BYTES) return NULL;
	if (memchr(value, '\0', size) != NULL) return "a string contains NUL";
	if (tag == ENV && (memchr(value, '=', size) == NULL || value[0] == '=')) return "an environment entry is not KEY=VALUE";
	if (records[tag].shape == ABSOLUTE && (size == 0 || value[0] != '/')) return "a path is not absolute";
	if (tag == PROGRAM && size == 0) return "the program is empty";
	if (tag == SOCKET_ && size > SOCKET_PATH_MAX) return "the socket path is too long";
	return NULL;
}

static const char *take(struct block *block, uint16_t tag, uint8_t *value) {
	switch (tag) {
	case PROTOCOL:
		return get32(value) == 1 ? NULL : "this holder speaks protocol 1";
	case DIR_: block->dir = (char *)value; return NULL;
	case SOCKET_: block->socket = (char *)value; return NULL;
	case CWD: block->cwd = (char *)value; return NULL;
	case PROGRAM: block->program = (char *)value; return NULL;
	case SIZE:
		block->cols = get16(value), block->rows = get16(value + 2);
		block->xpixel = get16(value + 4), block->ypixel = get16(value + 6);
		return block->cols > 0 && block->rows > 0 ? NULL : "a size of zero";
	case LIMIT: {
		uint32_t which = get32(value);
		if (which >= BLOCK_LIMITS || get32(value + 4) != 0) return "unknown limit";
		if (block->limited[which]) return "a limit is repeated";
		block->limited[which] = true, block->limits[which] = get64(value + 8);
		return NULL;
	}
	case IDENTITY:
		block->has_identity = true, block->uid = get32(value), block->gid = get32(value + 4);
		// -1 means "leave as it is" to the system calls: a demand to change that changes nothing.
		return block->uid != UINT32_MAX && block->gid != UINT32_MAX ? NULL : "not an identity";
	case QUOTA: block->quota = get64(value); return NULL;
	case SEGMENT:
		block->segment = get64(value);
		return block->segment >= 4096 ? NULL : "segments under 4096 bytes";
	case FLAGS:
		block->flags = get32(value);
		return (block->flags & ~(FLAG_NO_CONTROLLING_TERMINAL | FLAG_ENDS_WITH_OWNER | FLAG_REPORTS_LAUNCH)) == 0 ? NULL : "unknown flag";
	case SECRET: block->secret = value; return NULL;
	case WALL: block->wall_ms = get64(value); return NULL;
	case UMASK:
		block->has_umask = true, block->umask = get32(value);
		return block->umask <= 0777 ? NULL : "not a umask";
	case RLIMIT: {
		uint32_t which = get32(value);
		if (which >= BLOCK_RLIMITS || get32(value + 4) != 0) return "unknown limit";
		if (block->rlimited[which]) return "a limit is repeated";
		block->rlimited[which] = true, block->soft[which] = get64(value + 8), block->hard[which] = get64(value + 16);
		return block->soft[which] <= block->hard[which] ? NULL : "a soft limit above the hard one";
	}
	case NICE: {
		uint32_t above_lowest = get32(value);
		block->has_nice = true, block->nice = (int)above_lowest - 20;
		return above_lowest < 40 ? NULL : "not a nice value";
	}
	}
	return NULL;
}

bool block_parse(uint8_t *bytes, size_t length, struct block *block, const char **why) {
	*block = (struct block){.cols = 80, .rows = 24, .quota = (uint64_t)256 << 20, .segment = (uint64_t)16 << 20};
	size_t seen[TAGS] = {0}, walked = 0;
	*why = "the block is not complete";
	if (length > BLOCK_MAX || block_complete(bytes, length, &walked) != 1) return false;

	for (size_t at = 0;;) { // the lengths were walked above: every record lies within the block
		uint16_t tag = get16(bytes + at);
		uint32_t size = get32(bytes + at + 4);
		*why = "a reserved field is not zero";
		if (get16(bytes + at + 2) != 0) return false;
		if (tag == END) {
			*why = "the end has a value";
			if (size != 0) return false;
			break;
		}
		if ((*why = refusal(tag, bytes + at + HEADER, size)) != NULL) return false;
		*why = "a single record is repeated";
		if (seen[tag]++ > 0 && !records[tag].repeats) return false;
		at += HEADER + size;
	}
	*why = "a required record is missing";
	for (int tag = 0; tag < TAGS; tag++)
		if (records[tag].required && seen[tag] == 0) return false;

	// Own pages, so that they can be given back: an idle holder counts its memory in kilobytes.
	*why = "no memory";
	block->pointers_bytes = (seen[ARG] + seen[ENV] + 2) * sizeof(char *);
	block->pointers = mmap(NULL, block->pointers_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block->pointers == MAP_FAILED) {
		block->pointers = NULL;
		return false;
	}
	block->arguments = block->pointers;
	block->environment = block->pointers + seen[ARG] + 1;
	size_t arguments = 0, environment = 0;
	for (size_t at = 0;;) {
		uint16_t tag = get16(bytes + at);
		uint32_t size = get32(bytes + at + 4);
		bytes[at] = '\0'; // ends the string before it: the tag has been read
		if (tag == END) return true;
		uint8_t *value = bytes + at + HEADER;
		if (tag == ARG) block->arguments[arguments++] = (char *)value;
		else if (tag == ENV) block->environment[environment++] = (char *)value;
		else if (tag == MASK) block->mask = value, block->mask_bytes = size;
		else if ((*why = take(block, tag, value)) != NULL) break;
		at += HEADER + size;
	}
	block_free(block);
	return false;
}

void block_free(struct block *block) {
	if (block->pointers != NULL) munmap(block->pointers, block->pointers_bytes);
	block->pointers = NULL;
}
