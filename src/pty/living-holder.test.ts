import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { endHolder } from "./living-holder.ts";
import { identityOf } from "./process-stat.ts";

test("a holder that ends between a look at it and the signal is one that has ended", async () => {
	const directory = mkdtempSync(join(tmpdir(), "dt-holder-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const program = join(directory, "dialtone-holder");
	copyFileSync("/bin/sleep", program);
	const child = spawn(program, ["100"], { stdio: "ignore" });
	await once(child, "spawn");
	const holder = identityOf(child.pid!);
	const { kill } = process;
	const signals = vi.spyOn(process, "kill").mockImplementation((pid, signal) => {
		if (signal === 0) return kill.call(process, pid, 0);
		child.kill("SIGKILL");
		throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
	});
	onTestFinished(() => signals.mockRestore());
	expect(await endHolder(holder, { directory, force: true })).toEqual([]);
});
