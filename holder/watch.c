// When to probe. There is no event for "now it is blocked", so while a client
// watches we poll: at once after something happened, then with back-off.
//
// A probe is framed by reading the terminal until it is empty. Whatever a thread
// wrote before it was seen asleep is then below the offset that the facts name.
//
// A probe may sleep in another process's memory or files: it is work (takeover.h). What
// it saw does not count if something was typed or signalled before it was told. While
// it is late, clients get the terminal's modes and nothing about threads.
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "bytes.h"
#include "holder.h"
#include "os.h"
#include "terminal-facts.h"
#include "text.h"

// Measured: a prompt is seen within 0.1 ms by the first two, silent changes within a few ms by the rest. What costs most is
// to wake up for a probe: the last two are all that one gets whose threads all sleep.
static const int64_t pauses_us[] = {0, 0, 500, 1000, 1500, 2500, 5000, 10000};
#define PAUSES ((int)(sizeof pauses_us / sizeof *pauses_us))
#define RESTING (PAUSES - 2)
// After that the answer may be late by a 200th of how long it has taken.
#define STEADY_LEAST_US 9000
#define STEADY_MOST_US 25000
#define STEADY_SHARE 200
// Probes may cost 1 % of a core, with this much of it in one burst; a job with many threads is probed less often.
#define COST_SHARE 100
#define COST_AT_ONCE_US 4000
#define COST_PAUSE_MOST_US 125000
// What is typed is answered at once, however much looks have cost: the client chose to type, and that costs it more.
#define COST_OF_INPUT_US 1500
// Which of several busy threads is on a core changes all the time and does not matter: not reported at that rate.
#define WORK_NEWS_US 500000
#define FLOODED_US 1000 // the terminal is never empty: it works, no need for a full probe
#define APART_US 100    // two probes closer than this see the same
// A program that was just given something is not probed while it runs: its processor time tells that for a hundredth of a probe.
#define SETTLE_US 1000
#define SETTLE_PAUSE_US 40
#define LATE_US 1000000 // a probe that takes longer is not waited for
#define ASKED_US 10000  // … nor a terminal that does not become empty, by a client that asked

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

void watch_input(struct holder *holder) {
	if (holder->look_cost <= COST_AT_ONCE_US - COST_OF_INPUT_US) return;
	holder->look_cost = COST_AT_ONCE_US - COST_OF_INPUT_US;
	holder->look_not_before = holder->looked_at + APART_US;
}

void watch_stir(struct holder *holder, int64_t now) {
	holder->look_step = 0;
	holder->stirred_at = now;
	look_next(holder, now);
}

static size_t tell_facts(struct holder *holder, int64_t now, bool late) {
	struct text text = text_in(facts, sizeof facts);
	int64_t since_output = now - (holder->output_at > 0 ? holder->output_at : holder->started_at);
	// By `inputOffset` a caller knows whether this was probed before or after what it typed.
	text_add(&text, "{\"at\":%" PRId64 ",\"inputOffset\":%" PRIu64 ",\"queued\":%zu,\"offset\":%" PRIu64 ",\"quietMs\":%" PRId64 ",\"sinceInputMs\":", wall_ms(),
	         holder->input.accepted, holder->input.held ? 0 : input_queued(&holder->input), holder->disk.taken, since_output / 1000);
	if (holder->typed_at > 0) text_add(&text, "%" PRId64 ",", (now - holder->typed_at) / 1000);
	else text_add(&text, "null,");
	if (late) {
		struct terminal_facts seen = terminal_facts_read(holder->master, holder->pts, holder->main_pid);
		text_add(&text, "\"late\":true,");
		terminal_facts_tell(&seen, &text);
	} else {
		text.used += attention_tell(holder->attention, text.start + text.used, text.capacity - text.used - 2);
	}
	text_add(&text, "}");
	return text.used;
}

static void send_facts(struct client *client, uint32_t request, size_t size) {
	uint8_t head[8] = {0};
	put32(head, request);
	client_send(client, FACTS_ANSWER, head, sizeof head, facts, size);
}

static bool is_worth_watching(const struct holder *holder) {
	return !holder->main_exited && holder->terminal != TERMINAL_CLOSED && (anybody_watches(holder) || type_waits(holder));
}

static void look(void *context) {
	struct holder *holder = context;
	int64_t before = cost_us();
	holder->look_changed = attention_look(holder->attention);
	holder->look_spent = cost_us() - before;
}

bool watch_ask(struct holder *holder, struct client *client, uint32_t request) {
	if (holder->ask_count == ASKS_WAITING) return false;
	holder->asks[holder->ask_count].client = client;
	holder->asks[holder->ask_count].at = now_us();
	holder->asks[holder->ask_count++].request = request;
	return true;
}

static void answer_asks(struct holder *holder, size_t size, int64_t now) {
	for (int i = 0; i < holder->ask_count; i++) {
		send_facts(holder->asks[i].client, holder->asks[i].request, size);
		holder->asks[i].client->answered_at = now;
	}
	holder->ask_count = 0;
}

// The data of a probe that is under way are not ours: then it is noted that this write was missed.
void watch_typing(struct holder *holder, const uint8_t *bytes, size_t count) {
	if (holder->look.state != WORK_NONE) holder->look_void = true;
	if (holder->look.state == WORK_RUNNING) holder->look_missed = true;
	else attention_wrote(holder->attention, bytes, count);
}

void watch_signalled(struct holder *holder) {
	if (holder->look.state != WORK_NONE) holder->look_void = true;
	if (holder->look.state == WORK_RUNNING) holder->look_missed = true;
	else attention_signalled(holder->attention);
}

static void tell_watchers(struct holder *holder, int64_t now) {
	bool works = attention_works(holder->attention);
	bool changed = holder->look_changed || holder->news_held;
	holder->news_held = changed && works && holder->pushed_works && now - holder->pushed_at < WORK_NEWS_US;
	changed &= !holder->news_held;

	size_t size = 0;
	bool moved = holder->pushed_offset != holder->disk.taken;
	for (int i = 0; i < holder->client_places; i++) {
		struct client *client = &holder->clients[i];
		bool sent = client->answered_at == now; // these facts, to a question of its own
		if (client->fd < 0 || !client->watching) continue;
		if (!changed && !moved && !client->facts_due) continue;
		if (size == 0) size = tell_facts(holder, now, false);
		// New output alone is not reported while the program works; it is when it waits again, or when that is unknown.
		if (!changed && !client->facts_due && works) continue;
		client->facts_due = !sent && client_has_backlog(client); // sent when it reads again: only the newest counts
		if (!sent && !client->facts_due) send_facts(client, 0, size);
		holder->pushed_offset = holder->disk.taken;
		holder->pushed_at = now;
		holder->pushed_works = works;
	}
}

// When watchers are told (again) that the probe is late.
static int64_t late_next(const struct holder *holder) {
	if (holder->late_at < holder->look.began) return holder->look.began + LATE_US;
	return holder->stirred_at > holder->late_at ? holder->late_at + LATE_US : -1;
}

static void tell_late(struct holder *holder, int64_t now) {
	if (now < holder->look.began + LATE_US) return;
	int64_t next = late_next(holder);
	bool push = next >= 0 && now >= next;
	if (!push && holder->ask_count == 0) return;
	size_t size = tell_facts(holder, now, true);
	answer_asks(holder, size, now);
	if (!push) return;
	holder->late_at = now;
	for (int i = 0; i < holder->client_places; i++) {
		struct client *client = &holder->clients[i];
		if (client->fd < 0 || !client->watching) continue;
		client->facts_due = true; // when the probe comes back
		if (!client_has_backlog(client)) send_facts(client, 0, size);
	}
}

static bool is_due(const struct holder *holder, int64_t now) {
	return holder->ask_count > 0 || (is_worth_watching(holder) && now >= holder->look_at);
}

// True: the terminal was empty, or has held up a client's question for long enough.
static bool is_drained(struct holder *holder, int64_t now) {
	bool empty = holder->terminal_quiet || take_output(holder);
	if (empty && holder->release_at == 0) return true;
	holder->look_at = empty && holder->release_at > now ? holder->release_at : now + FLOODED_US;
	return holder->ask_count > 0 && now - holder->asks[0].at >= ASKED_US;
}

// Not for longer than SETTLE_US: one that goes on running works, and that is worth telling.
static bool is_settling(struct holder *holder, int64_t now) {
	bool settling = now - holder->stirred_at < SETTLE_US && (now < holder->settle_at || attention_runs(holder->attention));
	if (!settling) holder->settle_at = 0;
	else if (now >= holder->settle_at) holder->settle_at = now + SETTLE_PAUSE_US;
	return settling;
}

// May something have to be told? If not, the terminal need not be drained for it.
static bool is_news(const struct holder *holder) {
	bool news = holder->look_changed || holder->news_held || holder->ask_count > 0 || holder->pushed_offset != holder->disk.taken;
	for (int i = 0; i < holder->client_places && !news; i++)
		news = holder->clients[i].fd >= 0 && holder->clients[i].watching && holder->clients[i].facts_due;
	return news;
}

// What was seen, once the terminal has been drained after it: scheduled anew, and told.
static void seen(struct holder *holder) {
	int64_t now = now_us();
	account(holder, holder->look_spent, now);
	look_next(holder, now + (holder->look_step < PAUSES ? pauses_us[holder->look_step] : steady_us(holder, now)));
	if (holder->look_missed) attention_missed(holder->attention);
	// Where the disk left no room the terminal was not drained: what a thread wrote may be above the offset.
	bool drained = !disk_is_full(holder), counts = drained && !holder->look_void;
	holder->look_void = holder->look_missed = false;
	if (counts && type_seen(holder)) counts = false;
	bool asked = holder->ask_count > 0, late = asked && now - holder->asks[0].at >= LATE_US;
	if (asked && (counts || !drained || late)) answer_asks(holder, tell_facts(holder, now, !counts), now);
	if (counts && is_worth_watching(holder)) tell_watchers(holder, now);
	for (int i = 0; i < holder->client_places && !counts; i++) // told by the next one
		holder->clients[i].facts_due |= holder->clients[i].watching;
}

bool watch_step(struct holder *holder, int64_t now) {
	if (holder->look.run == NULL) holder->look.run = look, holder->look.context = holder;
	if (holder->look.state == WORK_RUNNING) {
		tell_late(holder, now);
		return true;
	}
	if (holder->terminal == TERMINAL_CLOSED) {
		for (int i = 0; i < holder->ask_count; i++) refuse(holder->asks[i].client, holder->asks[i].request, "ended", 0, NULL);
		holder->ask_count = 0;
		return true;
	}
	if (holder->look.state == WORK_NONE) {
		if (!is_due(holder, now) || is_settling(holder, now)) return true;
		if (!is_drained(holder, now)) return true;
		if (!disk_step(holder, now)) return false;
		if (attention_stands(holder->attention)) holder->look_changed = false, holder->look_spent = 0;
		else {
			attention_count_reads(holder->attention, type_waits(holder));
			if (!work_do(&holder->look)) return false;
		}
		holder->look_step = holder->look_step + 1 < PAUSES ? holder->look_step + 1 : PAUSES;
		if (holder->look_step < RESTING && attention_rests(holder->attention)) holder->look_step = RESTING;
	}
	if (is_news(holder)) {
		take_output(holder); // may stir: then the next probe is due at once
		release_output(holder); // what is told of the program is told with all that it printed before
		if (!disk_step(holder, now)) return false;
	}
	holder->look.state = WORK_NONE;
	seen(holder);
	return true;
}

int64_t watch_next(const struct holder *holder) {
	if (holder->look.state == WORK_RUNNING) {
		if (holder->ask_count > 0) return holder->look.began + LATE_US;
		return anybody_watches(holder) ? late_next(holder) : -1;
	}
	if (holder->look.state == WORK_DONE) return 1; // now
	if (holder->ask_count == 0 && !is_worth_watching(holder)) return -1;
	if (holder->settle_at > 0) return holder->settle_at;
	return holder->ask_count > 0 || holder->look_at == 0 ? 1 : holder->look_at;
}
