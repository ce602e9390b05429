import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { limitsHere } from "./resource-limits.ts";

const script = `import { limitsHere } from ${JSON.stringify(`${import.meta.dirname}/resource-limits.ts`)};
	process.stdout.write(JSON.stringify(limitsHere()))`;

/** The limits as a process sees them that a shell has started after this setup. */
function limitsAfter(setup: string): readonly (readonly [number | null, number | null])[] {
	const node = [process.execPath, "--import", "tsx", "--input-type=module", "-e", script];
	const { stdout, stderr } = spawnSync("sh", ["-c", `${setup}\n"$@"\ntrue`, "sh", ...node], { encoding: "utf8" });
	if (stdout === "") throw new Error(stderr);
	return JSON.parse(stdout);
}

describe("the limits of this process", () => {
	test("are the kernel's, cpu time first", () => {
		const limits = limitsAfter("ulimit -S -t 1000; ulimit -H -t 2000; ulimit -c 0");
		expect(limits).toHaveLength(16);
		expect(limits[0]).toEqual([1000, 2000]);
		expect(limits[4]).toEqual([0, 0]);
	});

	test("have the soft limit of open files that the shell had, not the one that node set", () => {
		expect(limitsAfter("ulimit -S -n 100; ulimit -H -n 1000")[7]).toEqual([100, 1000]);
	});

	test("are never above the own hard limit", () => {
		const [soft, hard] = limitsHere()![7]!;
		expect(soft).toBeLessThanOrEqual(hard ?? Number.POSITIVE_INFINITY);
	});
});
