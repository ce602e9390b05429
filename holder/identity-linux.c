#include "identity.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "os.h"

#define PATIENCE_US 500000    // a busy machine seldom takes this long
#define PATIENCE_HELD_US 50000 // while others are held up: it is likely
#define HELD_MOST 16          // and as many threads; beyond, nobody is asked
#define IDLE_US 5000000       // without a question: the helper ends, so that an idle holder pays nothing for it
#define STACK_BYTES ((size_t)1 << 18)
#define PIDFS 0x50494446      // the file system's magic number

// --- what is never held up ----------------------------------------------------------------

static const char *field(const char *status, const char *name) {
	const char *line = strstr(status, name);
	return line == NULL ? NULL : line + strlen(name);
}

bool identity_status(pid_t pid, struct process *out) {
	char status[4096];
	if (proc_text(pid, "status", status, sizeof status) <= 0) return false;
	// The name comes first; a line end in it is written as \n.
	const char *name = status + strlen("Name:\t"), *state = field(status, "\nState:\t");
	const char *parent = field(status, "\nPPid:\t"), *threads = field(status, "\nThreads:\t");
	if (strncmp(status, "Name:\t", strlen("Name:\t")) != 0 || state == NULL || parent == NULL || threads == NULL) return false;
	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(name, "\n"), name);
	out->pid = pid;
	out->state = *state;
	out->parent = (pid_t)strtol(parent, NULL, 10);
	out->threads = (unsigned)strtoul(threads, NULL, 10);
	return true;
}

uint64_t identity_of_pidfd(int pidfd) {
	struct statfs system;
	struct stat of;
	if (fstatfs(pidfd, &system) != 0 || system.f_type != PIDFS || fstat(pidfd, &of) != 0) return 0;
	return of.st_ino;
}

// --- what may be --------------------------------------------------------------------------------

struct helper {
	struct identity *identities; // the loop's; not to be touched once it was left
	size_t next, count;
	bool left;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked, answered;
	struct helper *helper;
	pid_t held[HELD_MOST];
	unsigned held_count;
} asking = {.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER};

static void read_identity(struct identity *identity) {
	struct process process;
	bool known = identity->of_program ? proc_program(identity->pid, &identity->program) : proc_stat(identity->pid, identity->pid, &process);
	identity->known = known ? IDENTITY_KNOWN : IDENTITY_GONE;
	identity->start = known && !identity->of_program ? process.start : 0;
}

static bool is_held(pid_t pid) {
	for (unsigned i = 0; i < asking.held_count; i++)
		if (asking.held[i] == pid) return true;
	return asking.held_count == HELD_MOST;
}

static void hold(pid_t pid) { asking.held[asking.held_count++] = pid; }

static void let_go(pid_t pid) {
	for (unsigned i = 0; i < asking.held_count; i++)
		if (asking.held[i] == pid) {
			asking.held[i] = asking.held[--asking.held_count];
			return;
		}
}

static void *help(void *own) {
	struct helper *helper = own;
	bool over = false;
	pthread_mutex_lock(&asking.lock);
	while (!over) {
		while (!over && helper->next == helper->count)
			over = !os_news_wait(&asking.asked, &asking.lock, now_us() + IDLE_US) && helper->next == helper->count;
		if (over) continue;
		struct identity identity = helper->identities[helper->next];
		pthread_mutex_unlock(&asking.lock);
		read_identity(&identity);
		pthread_mutex_lock(&asking.lock);
		over = helper->left;
		if (over) let_go(identity.pid);
		else helper->identities[helper->next++] = identity;
		if (!over && helper->next == helper->count) pthread_cond_signal(&asking.answered);
	}
	if (asking.helper == helper) asking.helper = NULL;
	pthread_mutex_unlock(&asking.lock);
	free(helper);
	return NULL;
}

static bool make_helper(void) {
	pthread_attr_t attributes;
	pthread_t thread;
	static bool prepared;
	if (!prepared) os_news_init(&asking.asked), pthread_cond_destroy(&asking.answered), os_news_init(&asking.answered);
	prepared = true;
	struct helper *helper = calloc(1, sizeof *helper);
	if (helper == NULL || pthread_attr_init(&attributes) != 0) return free(helper), false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	// Perhaps from within a signal's handler: a signal that falls to one who sleeps would be lost on the loop.
	sigset_t every, before;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	bool made = pthread_create(&thread, &attributes, help, helper) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (made) asking.helper = helper;
	else free(helper);
	return made;
}

// How many were answered before one took too long. The lock is held.
static size_t ask_helper(struct identity *identities, size_t count) {
	struct helper *helper = asking.helper;
	int64_t patience = asking.held_count > 0 ? PATIENCE_HELD_US : PATIENCE_US, until = now_us() + patience;
	helper->identities = identities;
	helper->next = 0, helper->count = count;
	pthread_cond_signal(&asking.asked);
	for (size_t before = 0; helper->next < count;) {
		os_news_wait(&asking.answered, &asking.lock, until);
		if (helper->next > before) before = helper->next, until = now_us() + patience;
		else if (now_us() >= until) break;
	}
	size_t answered = helper->next;
	if (answered < count) helper->left = true, asking.helper = NULL;
	return answered;
}

void identity_ask(struct identity *identities, size_t count) {
	pthread_mutex_lock(&asking.lock);
	for (size_t at = 0; at < count;) {
		size_t run = 0;
		while (at + run < count && !is_held(identities[at + run].pid)) run++;
		if (run > 0 && asking.helper == NULL && !make_helper()) {
			// Where no thread may be made, unwatched.
			for (; run > 0; run--) read_identity(&identities[at++]);
			continue;
		}
		size_t answered = run > 0 ? ask_helper(&identities[at], run) : 0;
		if (answered < run) hold(identities[at + answered].pid);
		at += answered;
		if (at < count && (answered < run || run == 0)) identities[at++].known = IDENTITY_HELD_UP;
	}
	pthread_mutex_unlock(&asking.lock);
}

enum identity_known identity_start(pid_t pid, unsigned long long *start) {
	struct identity identity = {.pid = pid};
	identity_ask(&identity, 1);
	*start = identity.start;
	return identity.known;
}
