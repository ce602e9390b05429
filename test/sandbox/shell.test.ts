// A shell of `run` in a sandbox: it works as outside, and the directory in which commands are handed over, which the
// program can write to, leads nobody out.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { StreamPipes } from "../../src/session/shell/streams.ts";
import { needing } from "../programs.ts";

let root: string;
let workspace: string;
let dialtone: Dialtone;
beforeAll(async () => {
	root = mkdtempSync(join(tmpdir(), "dt-sandboxed-shell-"));
	workspace = join(root, "workspace");
	mkdirSync(workspace);
	dialtone = await Dialtone.open();
});
afterAll(async () => {
	await dialtone[Symbol.asyncDispose]();
	rmSync(root, { recursive: true, force: true });
});

async function run(shell: string, command: string, more: object = {}) {
	const input = { command, shell, program: "bash", clean: true, sandbox: { workspace }, timeoutMs: 120_000, ...more };
	return (await dialtone.client.call("run", input)).facts;
}

describe("R4.9 a shell of `run` in a sandbox", needing("bwrap"), () => {
	test("keeps its state, tells streams apart, names its jobs, and is stopped at a timeout", async () => {
		const first = await run("works", "x=7; pwd");
		expect(first).toMatchObject({ text: `${workspace}\n`, exitCode: 0, jobs: [], sandbox: "enforced" });
		const apart = await run("works", "echo out; echo err >&2; exit_code() { return $x; }; exit_code", {
			separate: true,
		});
		expect(apart).toMatchObject({ stdout: "out\n", stderr: "err\n", exitCode: 7, sandbox: "enforced" });
		// Until it is executed, the job is another bash.
		const executed = "until grep -qx sleep /proc/$!/comm; do :; done";
		const left = await run("works", `sleep 60 & ${executed}`);
		expect(left.jobs).toMatchObject([{ command: "sleep 60" }]);
		const stopped = await run("works", "sleep 300", { timeoutMs: 200 });
		expect(stopped).toMatchObject({ timedOut: true, exitCode: 130 });
		expect((await run("works", "echo $x")).text).toBe("7\n");
	});

	test("a shell that is started in the place of one that ended has its sandbox, unless another is asked for", async () => {
		await run("again", "true");
		await run("again", "exit 3");
		expect(await run("again", "pwd", { sandbox: undefined })).toMatchObject({
			text: `${workspace}\n`,
			sandbox: "enforced",
		});
	});

	test("`cwd` of the first call is the workspace where none is named", async () => {
		const other = join(root, "other");
		mkdirSync(other);
		const facts = await run("where", "pwd; touch here", { sandbox: true, cwd: other });
		expect(facts).toMatchObject({ text: `${other}\n`, exitCode: 0, sandbox: "enforced" });
	});

	test("what it puts in place of our files makes us neither read nor write elsewhere", async () => {
		const secret = join(root, "secret");
		writeFileSync(secret, "outside");
		await run("links", "true");
		// Names that we write, and those of pipes and outputs, as links to a file outside.
		const plant = `for name in deadline.json shell.json shell.json.tmp; do ln -sf ${secret} "$_dt_dir/$name"; done`;
		expect((await run("links", plant)).exitCode).toBe(0);
		const replace = `rm -f "$_dt_p"/out1 "$_dt_p"/out2; ln -s ${secret} "$_dt_p/out1"; ln -s ${secret} "$_dt_p/out2"`;
		const apart = await run("links", replace, { separate: true });
		expect(JSON.stringify([apart.stdout, apart.stderr, apart.text])).not.toContain("outside");
		expect((await run("links", "echo next")).text).toBe("next\n");
		const whole = `mv "$_dt_p" "$_dt_p.real"; ln -s ${root} "$_dt_p"; cp /etc/hostname ${workspace}/out1`;
		await run("links", whole, { separate: true });
		expect(readFileSync(secret, "utf8")).toBe("outside");
	});
});

test("R4.9 the end of a stream is written to nothing but a pipe, and what is removed is only what is ours", async () => {
	const shell = join(root, "session/shell");
	const [pipes, victim, kept] = [join(shell, "x.d"), join(root, "victim"), join(root, "kept")];
	mkdirSync(pipes, { recursive: true });
	mkdirSync(kept);
	writeFileSync(victim, "as it was");
	writeFileSync(join(kept, "out1"), "kept");
	for (const name of ["1", "2", "out1"]) symlinkSync(victim, join(pipes, name));
	symlinkSync(kept, join(pipes, "out2"));
	const streams = new StreamPipes({ dir: pipes, end: "aid=x;r=x", state: "ready" });
	await streams.end();
	expect((await streams.read()).stdout.head).toHaveLength(0);
	await streams.remove();
	expect([readFileSync(victim, "utf8"), readFileSync(join(kept, "out1"), "utf8")]).toEqual(["as it was", "kept"]);
	expect(existsSync(pipes)).toBe(false);
	// The directory itself may be a link.
	symlinkSync(kept, pipes);
	expect((await streams.read()).stdout.head).toHaveLength(0);
	await streams.remove();
	expect(existsSync(pipes)).toBe(false);
	expect(readFileSync(join(kept, "out1"), "utf8")).toBe("kept");
});
