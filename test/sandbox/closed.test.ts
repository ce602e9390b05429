// What cannot be confined is not started, and binds that would lead out are refused.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tryConfining } from "../../src/pty/sandbox.ts";
import { root } from "../pty/stage.ts";
import { Box, isRoot } from "./box.ts";

let box: Box;
beforeEach(async () => {
	box = await Box.open(isRoot ? "root" : "a normal user");
});
afterEach(() => box[Symbol.asyncDispose]());

describe("R4.9 fails closed", () => {
	test("without bwrap", async () => {
		await expect(box.start("true", {}, {}, { bwrapIn: [box.outside] })).rejects.toMatchObject({ problem: "no_bwrap" });
	});

	test("without the helper", async () => {
		await expect(box.start("true", {}, {}, { helper: "/no/such" })).rejects.toMatchObject({ problem: "no_helper" });
	});

	test("without a workspace", async () => {
		const missing = join(box.outside, "missing");
		await expect(box.start("true", { workspace: missing })).rejects.toMatchObject({ problem: "no_workspace" });
		await expect(box.start("true", { workspace: join(box.outside, "secret") })).rejects.toMatchObject({
			problem: "no_workspace",
		});
	});

	test("with a list of hosts and no proxy", async () => {
		await expect(box.start("true", { network: { allow: ["example.com"] } })).rejects.toMatchObject({
			problem: "no_proxy",
		});
	});

	test("where bwrap fails, in its words", async () => {
		const broken = join(box.outside, "bwrap");
		writeFileSync(broken, "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n", {
			mode: 0o755,
		});
		await expect(box.start("true", {}, {}, { bwrapIn: [box.outside] })).rejects.toMatchObject({
			name: "PtyCreationError",
			stage: "sandbox",
			message: "bwrap: No permissions to create new namespace",
		});
	});

	test("where user namespaces are switched off", async () => {
		const script = join(box.workspace, "off.mts");
		writeFileSync(
			script,
			`import { confined } from ${JSON.stringify(join(root, "src/pty/sandbox.ts"))};
const spec = { directory: "/tmp/none", socketPath: "/tmp/none/s", argv: ["true"], env: {}, cwd: "/", cols: 80, rows: 24, epoch: 1n };
const sandbox = { workspace: ${JSON.stringify(box.workspace)}, ro: [], rw: [], network: "none" };
await confined(spec, sandbox, {}).then(() => console.log("confined"), (error) => console.log(error.problem));
`,
		);
		const off = `echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"`;
		const node = [process.execPath, "--import", import.meta.resolve("tsx"), script];
		const child = spawn("unshare", ["-Ur", "sh", "-c", off, "sh", ...node], { stdio: ["ignore", "pipe", "inherit"] });
		let said = "";
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			said += text;
		});
		await new Promise((resolve) => child.once("close", resolve));
		expect(said).toBe("no_namespaces\n");
	});
});

describe("R4.9 whether programs can be confined is known before one is started", () => {
	test("here they can", async () => {
		expect(await tryConfining()).toMatch(/\/bwrap$/);
	});

	test("without bwrap, without the helper, and where bwrap fails, in its words", async () => {
		await expect(tryConfining({ bwrapIn: [box.outside] })).rejects.toMatchObject({ problem: "no_bwrap" });
		await expect(tryConfining({ helper: "/no/such" })).rejects.toMatchObject({ problem: "no_helper" });
		const message = "bwrap: No permissions to create new namespace";
		writeFileSync(join(box.outside, "bwrap"), `#!/bin/sh\necho '${message}' >&2\nexit 1\n`, { mode: 0o755 });
		await expect(tryConfining({ bwrapIn: [box.outside] })).rejects.toMatchObject({ problem: "no_namespaces", message });
	});
});

describe("R4.9 binds that lead out are refused", () => {
	const refused = (sandbox: Parameters<Box["start"]>[1]) =>
		expect(box.start("true", sandbox)).rejects.toMatchObject({ problem: "bad_bind" });

	test.each(["/", "/proc", "/proc/1", "/sys", "/dev", "/run", "/tmp", "/etc", "/var"])("%s", async (path) => {
		await refused({ ro: [path] });
		await refused({ rw: [path] });
		await refused({ workspace: path });
	});

	test("a link to one of them", async () => {
		symlinkSync("/run", join(box.outside, "link"));
		await refused({ ro: [join(box.outside, "link")] });
		await refused({ workspace: join(box.outside, "link") });
	});

	test("the state directory, what is in it and what holds it", async () => {
		for (const path of [box.state, join(box.state, "sessions"), join(box.state, "..")]) {
			await refused({ ro: [path] });
			await refused({ workspace: path });
		}
	});

	test("the home, what holds it, its credentials and its start files", async () => {
		for (const path of [box.home, join(box.home, "..")]) await refused({ workspace: path });
		await refused({ ro: [join(box.home, ".ssh")] });
		await refused({ ro: [join(box.home, ".ssh/id_test")] });
		await refused({ rw: [join(box.home, ".bashrc")] });
	});

	test("what a start file of the home leads to", async () => {
		const dotfiles = join(box.home, "dotfiles");
		mkdirSync(dotfiles);
		writeFileSync(join(dotfiles, "zshrc"), "");
		await box.run("true", { workspace: dotfiles }, { cwd: dotfiles });
		symlinkSync("dotfiles/zshrc", join(box.home, ".zshrc"));
		await refused({ workspace: dotfiles });
	});

	test("what a directory of start files leads to, also if there is none in it yet", async () => {
		const dotfiles = join(box.home, "more-dotfiles");
		mkdirSync(join(dotfiles, "local/share"), { recursive: true });
		mkdirSync(join(box.home, ".cargo"));
		await box.run("true", { workspace: dotfiles }, { cwd: dotfiles });
		symlinkSync("more-dotfiles/local", join(box.home, ".local"));
		await refused({ workspace: dotfiles });
		rmSync(join(box.home, ".local"));
		symlinkSync("../more-dotfiles/env", join(box.home, ".cargo/env"));
		await refused({ workspace: dotfiles });
		rmSync(join(box.home, ".cargo"), { recursive: true });
	});

	test("a socket", async () => {
		const server = createServer();
		const path = join(box.outside, "s.sock");
		await new Promise<void>((resolve) => server.listen(path, resolve));
		await refused({ ro: [path] });
		server.close();
	});

	test("Dialtone's own programs, to be written", async () => {
		await refused({ rw: [root] });
	});

	test("and others are not: a workspace below the home, with a part of it read-only", async () => {
		const project = join(box.home, "project");
		mkdirSync(join(project, ".git"), { recursive: true });
		const more = mkdtempSync(join(box.outside, "more-"));
		writeFileSync(join(more, "file"), "readable\n");
		const sandbox = { workspace: project, ro: [more, join(project, ".git")] };
		const lines = `cat ${more}/file; touch made && echo made; touch .git/x || echo held; touch ${more}/x || echo held; mv .git y || echo held; ls -A ~`;
		const { said } = await box.run(lines, sandbox, { cwd: project });
		expect(said.split("\n").filter((line) => !line.includes(": "))).toEqual([
			"readable",
			"made",
			"held",
			"held",
			"held",
			"project",
			"",
		]);
	});
});
