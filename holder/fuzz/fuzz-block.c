// libFuzzer: any bytes as a launch block are refused or understood, and nothing beyond them is read.
#include <stdlib.h>
#include <string.h>

#include "../block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct block block;
	const char *why;
	uint8_t *bytes = malloc(size > 0 ? size : 1); // exactly as large, so that the sanitizer sees one byte too far
	if (bytes == NULL) return 0;
	memcpy(bytes, data, size);
	if (block_parse(bytes, size, &block, &why)) {
		// What was understood is what a launch relies on.
		if (block.dir[0] != '/' || block.socket[0] != '/' || block.cwd[0] != '/' || block.arguments[0] == NULL) abort();
		if (block.cols == 0 || block.rows == 0 || block.segment < 4096) abort();
		size_t total = strlen(block.dir) + strlen(block.socket) + strlen(block.cwd);
		for (char **argument = block.arguments; *argument != NULL; argument++) total += strlen(*argument);
		for (char **entry = block.environment; *entry != NULL; entry++) {
			total += strlen(*entry);
			if (strchr(*entry, '=') == NULL) abort();
		}
		if (total > size) abort();
		block_free(&block);
	} else if (why == NULL) {
		abort();
	}
	free(bytes);
	return 0;
}
