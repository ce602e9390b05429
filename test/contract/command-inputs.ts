/** How each tool that starts something is given a command line. */
export const COMMAND_INPUTS: Readonly<Record<string, (command: string) => object>> = {
	start: (command) => ({ command }),
	run: (command) => ({ command }),
	unified_exec: (cmd) => ({ cmd }),
	exec_command: (cmd) => ({ cmd }),
	pty_create: (cmd) => ({ cmd }),
	run_bash: (command) => ({ command }),
	start_background_process: (command) => ({ command }),
};
