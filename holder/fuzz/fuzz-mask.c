// libFuzzer: any output, in any pieces and with any pauses, is masked as a search through all
// of it would, byte for byte; no more is held back than promised, and no byte of it is a new one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mask.h"

#define MOST 8192

static uint8_t out[MOST], raw[MOST], expected[MOST];
static size_t out_count;

static void late(void *context, uint64_t from, uint64_t to) {
	(void)context;
	if (from >= to || to > out_count) abort();
	memset(out + from, '*', to - from);
}

// Slow and plain: every pattern at every place, in the output and in what it shows.
static void search(const uint8_t *bytes, const size_t *where, size_t count, const uint8_t *records, size_t size) {
	for (size_t at = 0; at < size; at += 2 + records[at]) {
		size_t length = records[at];
		for (size_t i = 0; i + length <= count; i++) {
			if (memcmp(bytes + i, records + at + 2, length) != 0) continue;
			for (size_t k = 0; k < length; k++) expected[where[i + k]] = '*';
		}
	}
}

// A second parser of escape sequences, which looks ahead instead of keeping a state.
static size_t sequence(const uint8_t *bytes, size_t count) {
	size_t i = 1;
	while (i < count && bytes[i] < 0x30 && bytes[i] != 0x18 && bytes[i] != 0x1a && bytes[i] != 0x1b) i++;
	if (i == count || bytes[i] == 0x1b) return i;
	uint8_t kind = bytes[i++];
	if (kind == '[') {
		while (i < count && bytes[i] != 0x1b && bytes[i] != 0x18 && bytes[i] != 0x1a && (bytes[i] < 0x40 || bytes[i] > 0x7e)) i++;
		return i < count && bytes[i] != 0x1b ? i + 1 : i;
	}
	if (kind == 0 || strchr("]PX^_", kind) == NULL) return i;
	while (i < count && bytes[i] != 0x1b && bytes[i] != 0x18 && bytes[i] != 0x1a && bytes[i] != 0x07) i++;
	if (i + 1 < count && bytes[i] == 0x1b && bytes[i + 1] == '\\') return i + 2;
	return i < count && bytes[i] != 0x1b ? i + 1 : i;
}

static void reference(size_t count, const uint8_t *records, size_t size) {
	static uint8_t shown[MOST];
	static size_t all[MOST], where[MOST];
	size_t shows = 0;
	memcpy(expected, raw, count);
	for (size_t i = 0; i < count; i++) all[i] = i;
	for (size_t i = 0; i < count;) {
		if (raw[i] == 0x1b) i += sequence(raw + i, count - i);
		else if ((raw[i] < 0x20 && raw[i] != '\t') || raw[i] == 0x7f) i++;
		else shown[shows] = raw[i], where[shows++] = i++;
	}
	search(raw, all, count, records, size);
	search(shown, where, shows, records, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct mask mask = {0};
	uint8_t records[64], piece[MOST + MASK_HELD_MOST];
	size_t records_size = 0, count = 0, number = size > 0 ? data[0] % 3 + 1u : 0;
	if (size > MOST || size < 1 + number * 10) return 0;
	data++, size--;
	for (size_t i = 0; i < number; i++, data += 9, size -= 9) { // patterns of 4 … 8 bytes, few letters: they overlap
		records[records_size] = (uint8_t)(4 + data[0] % 5), records[records_size + 1] = 0;
		for (size_t k = 0; k < records[records_size]; k++) records[records_size + 2 + k] = (uint8_t)("ab\t;"[data[k + 1] % 4]);
		records_size += 2u + records[records_size];
	}
	if (!mask_add_all(&mask, records, records_size)) abort();
	const struct mask_late tell = {late, NULL};
	out_count = 0;
	while (size > 0) {
		size_t part = data[0] % 17 + 1u;
		bool pause = data[0] & 0x80, relearn = data[0] & 0x40;
		data++, size--;
		if (part > size) part = size;
		for (size_t i = 0; i < part; i++) raw[count + i] = data[i] & 0x80 ? (uint8_t)"ab\t;\033[m]\a\r\n\\1P\030z"[data[i] % 17] : data[i];
		size_t resumed = mask_resume(&mask, piece);
		memcpy(piece + resumed, raw + count, part);
		size_t went = mask_pass(&mask, piece, resumed + part, out_count, &tell);
		memcpy(out + out_count, piece, went);
		out_count += went;
		count += part, data += part, size -= part;
		if (pause) out_count += mask_release(&mask, out + out_count);
		if (relearn && !mask_add_all(&mask, records, records_size)) abort();
		if (!mask_holds(&mask) && out_count != count) abort();
	}
	out_count += mask_release(&mask, out + out_count);
	reference(count, records, records_size);
	if (out_count != count || memcmp(out, expected, count) != 0) {
		fprintf(stderr, "got  %.*s\nwant %.*s\n", (int)out_count, (char *)out, (int)count, (char *)expected);
		abort();
	}
	mask_wipe(&mask);
	return 0;
}
