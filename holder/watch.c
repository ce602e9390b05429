// When to probe. There is no event for "now it is blocked", so while a client
// watches we poll: at once after something happened, then with back-off.
//
// A probe is framed by reading the terminal until it is empty. Whatever a thread
// wrote before it was seen asleep is then below the offset that the facts name.
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "bytes.h"
#include "holder.h"
#include "os.h"
#include "text.h"

// Measured: a prompt is seen within 0.1 ms by the first two, silent changes within a few ms by the rest.
static const int64_t pauses_us[] = {0, 0, 1000, 1500, 2200, 3400, 5000};
#define PAUSES ((int)(sizeof pauses_us / sizeof *pauses_us))
// After that the answer may be late by a 200th of how long it has taken.
#define STEADY_LEAST_US 5000
#define STEADY_MOST_US 25000
#define STEADY_SHARE 200
// Probes may cost 2 % of a core, with this much of it in one burst; a job with many threads is probed less often.
#define COST_SHARE 50
#define COST_AT_ONCE_US 4000
#define COST_PAUSE_MOST_US 125000
// Which of several busy threads is on a core changes all the time and does not matter: not reported at that rate.
#define WORK_NEWS_US 100000
#define FLOODED_US 1000 // the terminal is never empty: it works, no need for a full probe
#define APART_US 200    // two probes closer than this see the same

static char facts[(size_t)192 << 10];

static bool anybody_watches(const struct holder *holder) {
	for (int i = 0; i < holder->client_places; i++)
		if (holder->clients[i].fd >= 0 && holder->clients[i].watching) return true;
	return false;
}

static int64_t steady_us(const struct holder *holder, int64_t now) {
	int64_t most = INT64_MAX;
	for (int i = 0; i < holder->client_places; i++) {
		const struct client *client = &holder->clients[i];
		if (client->fd < 0 || !client->watching) continue;
		int64_t wish = client->busy_ms == 0 ? STEADY_MOST_US : (int64_t)client->busy_ms * 1000;
		if (wish < most) most = wish;
	}
	int64_t share = (now - holder->stirred_at) / STEADY_SHARE;
	if (share < STEADY_LEAST_US) share = STEADY_LEAST_US;
	return share < most ? share : most;
}

// The next probe, not sooner than the cost budget allows.
static void look_next(struct holder *holder, int64_t at) {
	holder->look_at = at > holder->look_not_before ? at : holder->look_not_before;
}

// Processor time: on a busy machine a probe takes long without costing more.
static int64_t cost_us(void) {
	struct timespec time;
	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 ? time.tv_sec * 1000000 + time.tv_nsec / 1000 : 0;
}

static void account(struct holder *holder, int64_t cost, int64_t now) {
	int64_t earned = (now - holder->looked_at) / COST_SHARE;
	holder->look_cost = (holder->look_cost > earned ? holder->look_cost - earned : 0) + cost;
	int64_t rest = (holder->look_cost - COST_AT_ONCE_US) * COST_SHARE;
	if (rest < APART_US) rest = APART_US;
	holder->look_not_before = now + (rest < COST_PAUSE_MOST_US ? rest : COST_PAUSE_MOST_US);
	holder->looked_at = now;
}

void watch_stir(struct holder *holder, int64_t now) {
	holder->look_step = 0;
	holder->stirred_at = now;
	look_next(holder, now);
}

static size_t tell_facts(struct holder *holder, int64_t now) {
	struct text text = text_in(facts, sizeof facts);
	int64_t since_output = now - (holder->output_at > 0 ? holder->output_at : holder->started_at);
	// By `inputOffset` a caller knows whether this was probed before or after what it typed.
	text_add(&text, "{\"at\":%" PRId64 ",\"inputOffset\":%" PRIu64 ",\"queued\":%zu,\"offset\":%" PRIu64 ",\"quietMs\":%" PRId64 ",\"sinceInputMs\":", wall_ms(),
	         holder->input.accepted, input_queued(&holder->input), holder->log.size, since_output / 1000);
	if (holder->typed_at > 0) text_add(&text, "%" PRId64 ",", (now - holder->typed_at) / 1000);
	else text_add(&text, "null,");
	text.used += attention_tell(holder->attention, text.start + text.used, text.capacity - text.used - 2);
	text_add(&text, "}");
	return text.used;
}

static void send_facts(struct client *client, uint32_t request, size_t size) {
	uint8_t head[8] = {0};
	put32(head, request);
	client_send(client, FACTS_ANSWER, head, sizeof head, facts, size);
}

static bool is_worth_watching(const struct holder *holder) {
	return !holder->main_exited && holder->terminal != TERMINAL_CLOSED && anybody_watches(holder);
}

void watch_answer(struct holder *holder, struct client *client, uint32_t request) {
	take_output(holder, 16);
	bool changed = attention_look(holder->attention);
	take_output(holder, 16);
	if (changed) // the watchers' next probe will not see this change as one
		for (int i = 0; i < holder->client_places; i++) holder->clients[i].facts_due |= holder->clients[i].watching;
	send_facts(client, request, tell_facts(holder, now_us()));
}

void watch_step(struct holder *holder, int64_t now) {
	if (!is_worth_watching(holder) || now < holder->look_at) return;
	if (!take_output(holder, 4)) {
		holder->look_at = now + FLOODED_US;
		return;
	}
	int step = holder->look_step;
	int64_t before = cost_us();
	bool changed = attention_look(holder->attention);
	now = now_us();
	account(holder, cost_us() - before, now);
	holder->look_step = step + 1 < PAUSES ? step + 1 : PAUSES;
	take_output(holder, 4); // may stir: then the next probe is due at once
	look_next(holder, now + (holder->look_step < PAUSES ? pauses_us[holder->look_step] : steady_us(holder, now)));
	now = now_us();

	bool works = attention_works(holder->attention);
	changed |= holder->news_held;
	holder->news_held = changed && works && holder->pushed_works && now - holder->pushed_at < WORK_NEWS_US;
	changed &= !holder->news_held;

	size_t size = 0;
	bool moved = holder->pushed_offset != holder->log.size;
	for (int i = 0; i < holder->client_places; i++) {
		struct client *client = &holder->clients[i];
		if (client->fd < 0 || !client->watching) continue;
		if (!changed && !moved && !client->facts_due) continue;
		if (size == 0) size = tell_facts(holder, now);
		// New output alone is not reported while the program works; it is when it waits again, or when that is unknown.
		if (!changed && !client->facts_due && works) continue;
		client->facts_due = client_has_backlog(client); // sent when it reads again: only the newest counts
		if (!client->facts_due) send_facts(client, 0, size);
		holder->pushed_offset = holder->log.size;
		holder->pushed_at = now;
		holder->pushed_works = works;
	}
}

int64_t watch_next(const struct holder *holder) {
	return !is_worth_watching(holder) ? -1 : holder->look_at > 0 ? holder->look_at : 1;
}
