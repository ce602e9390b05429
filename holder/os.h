// What POSIX lacks, or what differs per system: one implementation per os-*.c.
#ifndef DIALTONE_OS_H
#define DIALTONE_OS_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// poll(2) with microseconds; a negative timeout waits for ever. Signals that are blocked otherwise are taken here.
int os_wait(struct pollfd *fds, nfds_t count, int64_t timeout_us);
// A condition whose waits end by the monotonic clock: at `until` µs, or never when that is negative. False: it was time.
void os_news_init(pthread_cond_t *news);
bool os_news_wait(pthread_cond_t *news, pthread_mutex_t *lock, int64_t until);
// Orphans of the session become children of this process instead of init's.
void os_become_reaper(void);
// Every descriptor from `lowest` up is closed.
void os_close_from(int lowest);
bool os_peer_uid(int socket, uid_t *uid);
// Is the process that connected a descendant of `root`, this process? Also true if that cannot be found out any more.
bool os_peer_is_below(int socket, pid_t root);
// While on, no other process of this user may read or change this one's memory and descriptors; its own files in /proc are root's.
void os_protect(bool on);
// A new terminal's master, close-on-exec and non-blocking; -1 with errno.
int os_open_master(void);
// Opens the other side of the terminal, close-on-exec and never as controlling terminal; -1 with errno. Of an exclusive one
// it may be the program's own description, which blocks or not as the program wants it.
int os_open_slave(int master, const char *pts, bool nonblocking);
// A descriptor that polls readable when a program has read nearly all that the terminal held, and when something was
// written to it; -1 where there is none. To be closed.
int os_watch_reads(int master);
void os_reads_taken(int reads); // … until the next time
// Makes sure that `bytes` can be written to the file later, even when the disk is full by then. 0 or an errno.
int os_reserve(int fd, off_t bytes);
// Raises INT, QUIT or TSTP in the foreground group as the terminal itself would.
int os_terminal_signal(int master, int signal);

// A descriptor that becomes readable after this time, which also passes while the machine sleeps; -1: not here.
int os_alarm(int64_t after_us);
// Whom the kernel ends first when memory runs out: this process less likely than now, if it may. What its children should
// set for themselves instead, to go before it; empty where that is unknown.
#define OOM_TEXT 12
void os_oom_last(char children[OOM_TEXT]);

// Ignores every signal that can be, also those that the C library keeps to itself; or gives each its default.
void os_every_signal(bool ignored);

int64_t now_us(void); // monotonic
int64_t wall_ms(void);

// The leader of the session that has this terminal, by its master; -1: none.
pid_t os_session_of(int master);

#endif
