// libFuzzer: whatever is written, typed in part, read, refused and dropped in whatever mode, what goes to the terminal is what
// was accepted, byte for byte: a plain list of what waits says what comes next.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "../input.h"

static struct input input;
static uint8_t list[INPUT_QUEUE], bytes[1 << 15];
static size_t listed;
static uint8_t next_byte;

static void must(bool so, const char *what) {
	if (so) return;
	fprintf(stderr, "%s: start %zu head %zu tail %zu urgent %zu left %zu, listed %zu\n", what, input.start, input.head, input.tail,
	        input.urgent, input.pace.left, listed);
	abort();
}

static void check(void) {
	must(input.start <= input.head && input.head <= input.tail && input.tail <= sizeof input.queue, "out of order");
	must(input_queued(&input) == listed, "another number waits");
	must(input.urgent <= listed, "more with priority than waits");
	must(memcmp(input.queue + input.head, list, listed) == 0, "other bytes wait");
}

static void forget_first(size_t count) {
	must(count <= listed, "more than waits");
	memmove(list, list + count, listed -= count);
}

static void accept(uint8_t how, uint8_t size, const struct termios *modes) {
	// Short ones, lines, and some that are too long for a line.
	size_t count = how & 1 ? 1 + size % 16 : 1 + (size_t)size * 64;
	for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)('a' + next_byte++ % 26);
	if (how & 2) bytes[count - 1] = (uint8_t)"\n\r\3\4"[how >> 6];
	if (how & 4) bytes[count / 2] = '\n';
	uint64_t value;
	const uint8_t none[WRITE_ID] = {0};
	struct input_write write = {.offset = NO_OFFSET, .id = none, .bytes = bytes, .count = count, .priority = (how & 24) == 24};
	if (input_accept(&input, &write, modes, &value) != INPUT_TAKEN) return;
	size_t at = write.priority ? 0 : listed;
	memmove(list + at + count, list + at, listed - at);
	memcpy(list + at, bytes, count);
	listed += count;
}

static void type(uint8_t part, const struct termios *modes) {
	const uint8_t *next;
	size_t count = input_next(&input, modes, &next);
	must(count <= listed && memcmp(next, list, count) == 0, "something else would be typed");
	if (count == 0) return;
	count = part == 0 ? count : 1 + part * 37u % count;
	input_written(&input, count);
	forget_first(count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static struct termios modes[3];
	modes[1].c_lflag = modes[2].c_lflag = ICANON | ISIG | IEXTEN | ECHO;
	modes[1].c_iflag = ICRNL, modes[1].c_cc[VEOF] = 4, modes[1].c_cc[VINTR] = 3, modes[1].c_cc[VLNEXT] = 0x16;
	const struct termios *now = modes;
	memset(&input, 0, offsetof(struct input, seen));
	input.seen_count = input.seen_next = 0;
	listed = 0, next_byte = 0;
	for (size_t i = 0; i + 2 < size; i += 3) {
		uint8_t how = data[i + 1], more = data[i + 2];
		uint64_t typed;
		size_t line;
		struct take take = {.reads = how};
		switch (data[i] % 8) {
		case 0: now = &modes[how % 3]; break;
		case 1:
		case 2: accept(how, more, now); break;
		case 3:
		case 4: type(how & 1 ? 0 : more, now); break;
		case 5:
			input_settled(&input, now);
			input_read(&input, now, how & 1 ? 0 : more * 16u % (input.head - input.start + 1));
			break;
		case 6: input_taken(&input, how & 1 ? &take : NULL, now); break;
		case 7:
			if (how == 7) input_drop(&input, more & 1), listed = 0;
			else forget_first(input_refuse(&input, now, &typed, &line));
			break;
		}
		check();
	}
	return 0;
}
