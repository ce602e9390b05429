// What the child of a launch writes when the program could not be executed; nothing, and end of file, when it was.
#ifndef DIALTONE_LAUNCH_REPORT_H
#define DIALTONE_LAUNCH_REPORT_H

#define REPORT_FD 3 // where a sandbox finds the descriptor: it reports in place of the child

enum stage { STAGE_TERMINAL, STAGE_LIMITS, STAGE_IDENTITY, STAGE_CHDIR, STAGE_EXEC, STAGE_SANDBOX, STAGES };

struct launch_report {
	int stage, error;
	char message[248]; // empty: that of the error
};

#endif
