// Bounded text: JSON is printed into a fixed buffer and can only be cut, never overflow.
#ifndef DIALTONE_TEXT_H
#define DIALTONE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *start;
	size_t used;
	size_t capacity;
	bool cut;
};

struct text text_in(char *buffer, size_t capacity);
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Adds a JSON string, quotes included. Bytes beyond ASCII become '?': the name of a process need not be UTF-8.
void text_json(struct text *text, const char *string);

#endif
