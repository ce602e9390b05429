// Standard output and standard error of a shell's commands, apart: docs/shell.md.
#ifndef DIALTONE_STREAMS_H
#define DIALTONE_STREAMS_H

// Prepares the pipes of `run` in `directory`, goes to the background and serves all later runs of this shell.
int streams_main(const char *directory, const char *run);

#endif
