// Who is below this holder and yet no part of its session: see tree.h.
#ifndef DIALTONE_LEAVING_H
#define DIALTONE_LEAVING_H

#include <stdbool.h>
#include <sys/types.h>

bool leaving_is_let_go(pid_t pid);
bool leaving_any(void);

#endif
