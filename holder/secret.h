// The owner's secret: kept beside the log, for the next owner to present.
#ifndef DIALTONE_SECRET_H
#define DIALTONE_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#define SECRET_BYTES 32

// Writes `secret` in the directory, for this user only; nothing is left on failure, with errno.
bool secret_keep(int dir, const uint8_t *secret);
void secret_remove(int dir);
// In the same time for every wrong one, so that it tells nothing about the right one.
bool secret_is(const uint8_t *secret, const uint8_t *given);

#endif
