// The daemon's own log: JSON lines in a 0600 file, turned over when it grows.

import { renameSync, statSync } from "node:fs";
import { destination, type Logger, pino } from "pino";

const MAX_BYTES = 5 << 20;
const LOOK_EVERY_LINES = 500;

/** Logs to a file; the one before is kept as `.1`. */
export function fileLog(path: string, level = "info"): Logger {
	const file = destination({ dest: path, mode: 0o600, mkdir: true, sync: true });
	let lines = 0;
	const turnOver = () => {
		try {
			if (statSync(path).size < MAX_BYTES) return;
			renameSync(path, `${path}.1`);
			file.reopen();
		} catch {
			// A log that cannot be turned over goes on growing; the daemon's work comes first.
		}
	};
	turnOver();
	return pino(
		{ level, base: { pid: process.pid } },
		{
			write: (line: string) => {
				file.write(line);
				if (++lines % LOOK_EVERY_LINES === 0) turnOver();
			},
		},
	);
}
