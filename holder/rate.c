#include "rate.h"

#define BURST_US 4000000 // a screen, or the summary of a build, comes at once: only what goes on is slowed
#define PIECE_US 50000   // read in pieces of this much time, not byte by byte
#define RATE_MOST ((uint64_t)1 << 32)

void rate_begin(struct rate *rate, uint64_t per_second, int64_t now) {
	*rate = (struct rate){.per_second = per_second < RATE_MOST ? per_second : 0, .at = now};
}

void rate_took(struct rate *rate, size_t bytes, int64_t now) {
	if (rate->per_second == 0) return;
	if (rate->at < now) rate->at = now;
	rate->at += (int64_t)((uint64_t)bytes * 1000000 / rate->per_second);
}

size_t rate_room(const struct rate *rate, size_t most, int64_t now) {
	if (rate->per_second == 0) return most;
	int64_t ahead = rate->at > now ? rate->at - now : 0;
	if (ahead > BURST_US - PIECE_US) return 0;
	uint64_t room = (uint64_t)(BURST_US - ahead) * rate->per_second / 1000000 + 1;
	return room < most ? (size_t)room : most;
}

int64_t rate_next(const struct rate *rate, int64_t now) {
	return rate_room(rate, 1, now) > 0 ? 0 : rate->at - BURST_US + PIECE_US;
}
