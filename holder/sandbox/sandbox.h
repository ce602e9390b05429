// The two ends of a sandbox, which bwrap makes between them.
//
// The outer one is the session's main process to the holder: it starts bwrap and ends exactly as the program within did.
// The inner one is process 1 of the sandbox: it gives the program its terminal, a system call filter and a parent that
// reaps. They talk over a pipe on which the inner one writes `struct news`.
#ifndef DIALTONE_SANDBOX_H
#define DIALTONE_SANDBOX_H

#include <stdbool.h>

// Descriptors that the inner one inherits.
#define TERMINAL_FD 3
#define NEWS_FD 4

enum news_kind { NEWS_FAILED, NEWS_STARTED, NEWS_ENDED };

struct news {
	enum news_kind kind;
	int stage, error;  // failed: see launch-report.h
	char message[200]; // … and more words, if any
	int status;        // ended: as waitpid() gave it
	bool alone;        // … and it left no process behind
};

// Each ends with the process. `arguments` are those behind the role, NULL-terminated.
_Noreturn void outer(char **arguments);
_Noreturn void inner(char **arguments);

// bwrap's arguments with `@private` replaced by mounts that cover what in /etc is not for everybody. NULL with errno.
char **without_private_files(char **arguments);

// From here on, for this process and what it starts, the files below `path` belong to nobody. False: not possible here.
bool disown(const char *path);

// No capability, no way to gain one, and no system call that programs do not need but attackers do. 0 or -1 with errno.
int filter_install(void);
// Where the kernel knows it (6.12): no abstract socket and no signal leads out. Without it a network namespace and a
// PID namespace have to do.
void scope_install(void);

// Listens on 127.0.0.1:port and relays each connection to the socket at `path`, in a thread of its own. 0 or -1 with errno.
int forward_start(int port, const char *path);

#endif
