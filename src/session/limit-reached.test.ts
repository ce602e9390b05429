import { expect, test } from "vitest";
import { limitOfCode, limitReached } from "./limit-reached.ts";

test.each([
	["memory", { memoryBytes: 512 * 2 ** 20 }, "ended: 512 MB memory limit"],
	["memory", { memoryBytes: 1.5 * 2 ** 30 }, "ended: 1.5 GB memory limit"],
	["memory", { memoryBytes: 1000 }, "ended: 1000 bytes memory limit"],
	["cpu_time", { cpuSeconds: 60 }, "ended: 1 min CPU limit"],
	["cpu_time", { cpuSeconds: 45 }, "ended: 45 s CPU limit"],
	["processes", { processes: 64 }, "ended: 64 processes limit"],
	["wall_clock", { wallMs: 600_000 }, "ended: 10 min wall-clock limit"],
	["wall_clock", { wallMs: 1234 }, "ended: 1234 ms wall-clock limit"],
	["wall_clock", {}, "ended: a limit"], // its record was lost
] as const)("R2.10 a session that was ended for its %s with %j says: %s", (reason, limits, words) => {
	expect(limitReached({ signal: "SIGKILL", reason }, limits)).toBe(words);
});

test("R2.10 the signals of the kernel's own limits are told from those that somebody sent", () => {
	const limits = { cpuSeconds: 5, fileBytes: 2 ** 20, memoryBytes: 1 };
	expect(limitReached({ signal: "SIGXCPU", reason: "exit" }, limits)).toBe("ended: 5 s CPU limit");
	expect(limitReached({ signal: "SIGXFSZ", reason: "exit" }, limits)).toBe("ended: 1 MB file size limit");
	expect(limitReached({ signal: "SIGXFSZ", reason: "exit" }, {})).toBe("ended: the file size limit that it inherited");
	for (const signal of ["SIGKILL", "SIGTERM", null])
		expect(limitReached({ signal, reason: "exit" }, limits)).toBeNull();
});

test("R2.10 an exit code names a limit only where there is one", () => {
	expect(limitOfCode(153, { fileBytes: 2 ** 20 })).toBe("a process of it reached the 1 MB file size limit");
	expect(limitOfCode(152, { cpuSeconds: 3 })).toBe("a process of it reached the 3 s CPU limit");
	expect(limitOfCode(153, {})).toBeNull();
	expect(limitOfCode(1, { fileBytes: 1 })).toBeNull();
	expect(limitOfCode(null, { fileBytes: 1 })).toBeNull();
});
