#include "report.h"

#include <errno.h>
#include <string.h>

// errno has names in no portable way. Those a launch can meet:
static const struct {
	int error;
	const char *name;
} names[] = {
	{E2BIG, "E2BIG"}, {EACCES, "EACCES"}, {EADDRINUSE, "EADDRINUSE"}, {EAGAIN, "EAGAIN"}, {EBADF, "EBADF"},
	{EDQUOT, "EDQUOT"}, {EEXIST, "EEXIST"}, {EFAULT, "EFAULT"}, {EFBIG, "EFBIG"}, {EINVAL, "EINVAL"}, {EIO, "EIO"},
	{EISDIR, "EISDIR"}, {ELOOP, "ELOOP"}, {EMFILE, "EMFILE"}, {ENAMETOOLONG, "ENAMETOOLONG"}, {ENFILE, "ENFILE"},
	{ENODEV, "ENODEV"}, {ENOENT, "ENOENT"}, {ENOEXEC, "ENOEXEC"}, {ENOMEM, "ENOMEM"}, {ENOSPC, "ENOSPC"},
	{ENOTDIR, "ENOTDIR"}, {ENOTTY, "ENOTTY"}, {ENXIO, "ENXIO"}, {EPERM, "EPERM"}, {EROFS, "EROFS"}, {ETXTBSY, "ETXTBSY"},
};

void report_failure(struct text *text, const struct failure *failure) {
	const char *code = "UNKNOWN";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].error == failure->error) code = names[i].name;
	text_add(text, "{\"ok\":false,\"stage\":\"%s\",\"errno\":%d,\"code\":\"%s\",\"message\":", failure->stage, failure->error, code);
	text_json(text, failure->message != NULL ? failure->message : strerror(failure->error));
	text_add(text, "}\n");
}

void report_success(struct text *text, pid_t holder, pid_t main_pid, const char *pts) {
	text_add(text, "{\"ok\":true,\"holder\":%d,\"pid\":%d,\"pts\":", (int)holder, (int)main_pid);
	text_json(text, pts);
	text_add(text, "}\n");
}
