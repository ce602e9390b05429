#include "takeover.h"

#include <pthread.h>
#include <stddef.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "os.h"

#define PATIENCE_US 50000   // work that takes longer is left to its thread; a busy machine alone seldom takes this long
#define SLOW_US 20000       // work that took this long is not waited for the next time
#define IDLE_US 5000000     // without work: the standby thread ends, so that an idle holder pays nothing for it
#define STACK_BYTES ((size_t)1 << 20)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t news;
	void (*loop)(void);
	void (*wake)(void);
	struct work *current; // what the loop's thread is doing
	int64_t due;          // … and when another takes over
	unsigned begun;       // pieces of work so far
	int standing_by;      // threads …
	int watching;         // … that need not be woken to notice that work takes long
} roles = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Waits until there is a loop to take over; false when there was no work for long. The lock is held.
// While there is work it looks every PATIENCE_US, so that no piece of work has to wake it.
static bool stand_by(bool may_end) {
	for (unsigned seen = roles.begun - 1;;) {
		int64_t now = now_us();
		if (roles.current != NULL && now >= roles.due) {
			roles.current = NULL;
			return true;
		}
		if (roles.current != NULL || roles.begun != seen) {
			seen = roles.begun;
			roles.watching++;
			os_news_wait(&roles.news, &roles.lock, roles.current != NULL ? roles.due : now + PATIENCE_US);
			roles.watching--;
		} else if (!os_news_wait(&roles.news, &roles.lock, may_end ? now + IDLE_US : -1) && roles.begun == seen) {
			return false;
		}
	}
}

// The first thread never ends: the process would look like a zombie.
static void serve(bool first) {
	bool over = false;
	while (!over) {
		roles.loop();
		pthread_mutex_lock(&roles.lock);
		roles.standing_by++;
		over = !stand_by(!first);
		roles.standing_by--;
		pthread_mutex_unlock(&roles.lock);
	}
}

static void *begin(void *unused) {
	(void)unused;
	pthread_mutex_lock(&roles.lock);
	bool loop = stand_by(true);
	roles.standing_by--; // counted by its maker
	pthread_mutex_unlock(&roles.lock);
	if (loop) serve(false);
	return NULL;
}

// Where no thread may be made, work is done unwatched.
static void make_standby(void) {
	pthread_attr_t attributes;
	pthread_t thread;
	if (pthread_attr_init(&attributes) != 0) return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread, &attributes, begin, NULL) == 0) roles.standing_by++;
	pthread_attr_destroy(&attributes);
}

_Noreturn void takeover_run(void (*loop)(void), void (*wake)(void)) {
	roles.loop = loop, roles.wake = wake;
	os_news_init(&roles.news);
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 1); // each thread would get its own, of several pages
#endif
	for (;;) serve(true);
}

bool work_do(struct work *work) {
	pthread_mutex_lock(&roles.lock);
	if (roles.standing_by == 0) make_standby();
	work->state = WORK_RUNNING;
	work->began = now_us();
	roles.current = work;
	roles.due = work->slow ? work->began : work->began + PATIENCE_US;
	roles.begun++;
	if (roles.watching == 0 || work->slow) pthread_cond_signal(&roles.news);
	pthread_mutex_unlock(&roles.lock);

	work->run(work->context);

	pthread_mutex_lock(&roles.lock);
	bool ours = roles.current == work;
	if (ours) roles.current = NULL;
	work->slow = now_us() - work->began > SLOW_US;
	work->state = WORK_DONE; // from here on it may be begun again by another
	pthread_mutex_unlock(&roles.lock);
	if (!ours) roles.wake();
	return ours;
}
