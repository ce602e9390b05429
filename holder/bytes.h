// Little-endian integers in byte strings, as docs/holder.md lays them out.
#ifndef DIALTONE_BYTES_H
#define DIALTONE_BYTES_H

#include <stdint.h>

static inline uint16_t get16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }
static inline uint32_t get32(const uint8_t *at) { return get16(at) | (uint32_t)get16(at + 2) << 16; }
static inline uint64_t get64(const uint8_t *at) { return get32(at) | (uint64_t)get32(at + 4) << 32; }

static inline void put32(uint8_t *at, uint32_t value) {
	for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}
static inline void put64(uint8_t *at, uint64_t value) {
	put32(at, (uint32_t)value);
	put32(at + 4, (uint32_t)(value >> 32));
}

#endif
