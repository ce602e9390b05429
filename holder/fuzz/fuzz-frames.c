// libFuzzer: any bytes from a client, cut into any pieces, are frames of the promised
// length or a refusal. What is typed passes the input queue, whose books must balance.
#include <stdlib.h>
#include <string.h>

#include "../bytes.h"
#include "../frame.h"
#include "../input.h"

static struct input input;

static void type(const struct inbox *inbox, struct termios *modes) {
	const uint8_t *payload = inbox_payload(inbox), *next;
	struct input_write write = {
		.offset = get64(payload + 8),
		.id = payload + 16,
		.bytes = payload + INPUT_HEADER,
		.count = inbox->length - INPUT_HEADER,
		.priority = (get32(payload + 4) & 1) != 0,
	};
	// Modes that the input itself chooses: raw or lines, with or without translation.
	modes->c_lflag = payload[4] & 2 ? ICANON | ISIG : 0;
	modes->c_iflag = payload[4] & 4 ? ICRNL : payload[4] & 8 ? IGNCR | INLCR : 0;
	uint64_t before = input.accepted, value = 0;
	size_t queued = input_queued(&input);
	enum input_answer answer = input_accept(&input, &write, modes, &value);
	uint64_t taken = input.accepted - before;
	if (input_queued(&input) != queued + taken || input_queued(&input) > INPUT_QUEUE) abort();
	if ((answer == INPUT_TAKEN) != (taken > 0)) abort();
	if (answer == INPUT_TAKEN && value != input.accepted) abort();
	if (payload[6] & 1) input_settled(&input, modes);
	if (payload[6] & 2) input_read(&input, modes, payload[7]);
	struct take take = {.reader = payload[7], .reads = payload[7]};
	if (payload[6] & 4) input_taken(&input, payload[6] & 8 ? &take : NULL, modes);
	size_t count = input_next(&input, modes, &next), line = 0;
	uint64_t typed = 0;
	queued = input_queued(&input);
	if (input.held && input_refuse(&input, modes, &typed, &line) > 0 && (input_queued(&input) >= queued || typed == 0 || line <= LINE_MOST)) abort();
	if (count > input_queued(&input)) abort();
	if (input.head - input.start + count > INPUT_FLIGHT) abort(); // never more on its way than the kernel keeps
	if (payload[5] & 1) input_drop(&input, (payload[5] & 4) != 0);
	else input_written(&input, payload[5] & 2 ? count : count / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct inbox inbox = {0};
	struct termios modes = {0};
	modes.c_cc[VEOF] = 4, modes.c_cc[VINTR] = 3, modes.c_cc[VKILL] = 21;
	input.start = input.head = input.tail = input.line_start = input.accepted = input.last = input.seen_count = input.seen_next = 0;
	input.urgent = input.write_start = input.write_end = 0;
	pace_begin(&input.pace);
	input.last_known = input.held = false;
	if (size == 0) return 0;
	size_t piece = data[0] % 97 + 1; // how it is cut
	data++, size--;
	while (size > 0) {
		size_t part = piece < size ? piece : size, used;
		enum inbox_state state = inbox_feed(&inbox, data, part, &used);
		if (used > part || (state == INBOX_HUNGRY && used != part)) abort();
		data += used, size -= used;
		if (state == INBOX_BAD) break;
		if (state == INBOX_HUNGRY) continue;
		if (inbox_type(&inbox) < HELLO || inbox_type(&inbox) > SECRETS) abort();
		uint32_t sum = 0; // every byte of the payload is there to be read
		for (uint32_t i = 0; i < inbox.length; i++) sum += inbox_payload(&inbox)[i];
		if (sum == UINT32_MAX) abort();
		if (inbox_type(&inbox) == INPUT) type(&inbox, &modes);
		inbox_next(&inbox);
	}
	inbox_next(&inbox);
	return 0;
}
