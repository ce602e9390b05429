#include "text.h"

#include <stdarg.h>
#include <stdio.h>

struct text text_in(char *buffer, size_t capacity) {
	struct text text = {.start = buffer, .used = 0, .capacity = capacity, .cut = false};
	if (capacity > 0) buffer[0] = '\0';
	return text;
}

void text_add(struct text *text, const char *format, ...) {
	size_t room = text->capacity - text->used;
	if (text->cut || room == 0) return;
	va_list arguments;
	va_start(arguments, format);
	int wanted = vsnprintf(text->start + text->used, room, format, arguments);
	va_end(arguments);
	if (wanted < 0 || (size_t)wanted >= room) {
		text->start[text->used] = '\0';
		text->cut = true;
		return;
	}
	text->used += (size_t)wanted;
}

void text_json(struct text *text, const char *string) {
	text_add(text, "\"");
	for (const unsigned char *at = (const unsigned char *)string; *at != '\0'; at++) {
		if (*at == '"' || *at == '\\') text_add(text, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f) text_add(text, "\\u%04x", *at);
		else text_add(text, "%c", *at < 0x80 ? *at : '?');
	}
	text_add(text, "\"");
}
