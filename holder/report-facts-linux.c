// The facts of the last probe, in JSON: src/protocol/kernel-facts.ts. See probe.h.

#include "probe.h"
#include "text.h"

// The words of the bits that are set.
static void put_words(struct text *text, const char *name, unsigned bits, const char *const *words, unsigned count) {
	unsigned put = 0;
	text_add(text, ",\"%s\":[", name);
	for (unsigned i = 0; i < count; i++)
		if ((bits & 1u << i) != 0)
			text_add(text, put++ > 0 ? ",\"%s\"" : "\"%s\"", words[i]);
	text_add(text, "]");
}

static void put_flags(struct text *text, unsigned flags) {
	static const char *const words[] = {"icrnl", "iexten", "lnext", "opost", "ixon"};
	put_words(text, "flags", flags, words, sizeof words / sizeof *words);
}

static void put_risks(struct text *text, unsigned risks) {
	static const char *const words[] = {"mixed", "timers", "shares", "orphans", "woken", "connected"};
	put_words(text, "risks", risks, words, sizeof words / sizeof *words);
}

static void put_modes(struct text *text, const struct place *place) {
	text_add(text, "\"canonical\":%s,\"echo\":%s,\"signals\":%s,\"vmin\":%u,\"vtime\":%u,\"unread\":",
	    place->canonical ? "true" : "false", place->echo ? "true" : "false", place->signals ? "true" : "false",
	    place->least, place->tenths);
	if (place->unread >= 0)
		text_add(text, "%d", place->unread);
	else
		text_add(text, "null");
	put_flags(text, place->flags);
}

static void put_threads(struct text *text, const struct attention *a, unsigned place);

static void put_thread(struct text *text, const struct attention *a, unsigned index) {
	static const char *const doings[] = {
		[DOING_RUNNING] = "running",   [DOING_DISK] = "disk",           [DOING_STOPPED] = "stopped",
		[DOING_OPAQUE] = "opaque",     [DOING_TTY_READ] = "tty-read",   [DOING_TTY_WRITE] = "tty-write",
		[DOING_TTY_POLL] = "tty-poll", [DOING_TIMER] = "timer",         [DOING_CHILD_WAIT] = "child-wait",
		[DOING_ACCEPT] = "accept",     [DOING_OTHER] = "other",         [DOING_UNKNOWN] = "unknown",
	};
	const struct thread *thread = &a->reported[index];
	const struct blocked *blocked = &thread->blocked;
	text_add(text, "{\"pid\":%d,\"tid\":%d,\"command\":", (int)thread->pid, (int)thread->tid);
	text_json(text, thread->name);
	text_add(text, ",\"doing\":\"%s\",\"switches\":%llu", doings[blocked->doing], (unsigned long long)thread->switches);
	text_add(text, ",\"foreground\":%s,\"main\":%s,\"fresh\":%s", thread->foreground ? "true" : "false",
	    thread->main ? "true" : "false", thread->fresh ? "true" : "false");
	if (thread->outside)
		text_add(text, ",\"outside\":true");
	if (blocked->call != NULL)
		text_add(text, ",\"call\":\"%s\"", blocked->call);
	if (blocked->fd >= 0)
		text_add(text, ",\"fd\":%d", blocked->fd);
	if (blocked->others > 0)
		text_add(text, ",\"others\":%u", blocked->others);
	if (blocked->timed)
		text_add(text, ",\"timeoutMs\":%ld", blocked->timeout_ms);
	if (blocked->listens)
		text_add(text, ",\"listens\":true");
	if (blocked->elsewhere)
		text_add(text, ",\"elsewhere\":true");
	if (blocked->local)
		text_add(text, ",\"local\":true");
	if (blocked->wakes)
		text_add(text, ",\"wakes\":true");
	if (thread->workers)
		text_add(text, ",\"workers\":true");
	if (thread->nonblocking)
		text_add(text, ",\"nonblocking\":true");
	if (thread->peeks)
		text_add(text, ",\"peeks\":true");
	if (blocked->risks != 0)
		put_risks(text, blocked->risks);
	bool first = true;
	for (unsigned i = 1; i < a->place_count; i++) {
		const struct place *place = &a->places[i];
		if (place->holder != (int)index)
			continue;
		text_add(text, "%s{\"pts\":%d,", first ? ",\"inner\":[" : ",", place->index);
		if (place->known)
			put_modes(text, place);
		else
			text_add(text, "\"canonical\":null,\"echo\":null,\"signals\":null,\"unread\":null");
		text_add(text, ",\"threads\":");
		put_threads(text, a, i);
		text_add(text, "}");
		first = false;
	}
	text_add(text, "%s}", first ? "" : "]");
}

static void put_threads(struct text *text, const struct attention *a, unsigned place) {
	bool first = true;
	text_add(text, "[");
	for (unsigned i = 0; i < a->reported_count; i++) {
		if (a->reported[i].place != place)
			continue;
		if (!first)
			text_add(text, ",");
		put_thread(text, a, i);
		first = false;
	}
	text_add(text, "]");
}

static void put_doubts(struct text *text, unsigned doubts) {
	static const char *const words[] = {"call", "set", "sleep", "list", "changed"};
	put_words(text, "doubts", doubts, words, sizeof words / sizeof *words);
}

size_t attention_tell(const struct attention *a, char *out, size_t size) {
	struct text text = text_in(out, size);
	text_add(&text, "\"readable\":%s,\"foregroundGroup\":%d,\"foregroundLives\":%s,\"mainForeground\":%s,",
	    a->readable ? "true" : "false", (int)a->places[0].group, a->group_lives ? "true" : "false",
	    a->main_foreground ? "true" : "false");
	put_modes(&text, &a->places[0]);
	text_add(&text, ",\"threads\":");
	put_threads(&text, a, 0);
	text_add(&text, ",\"more\":%u", a->more);
	put_doubts(&text, a->doubts);
	if (a->wakes_ms >= 0)
		text_add(&text, ",\"wakesMs\":%ld", a->wakes_ms);
	return text.used;
}
