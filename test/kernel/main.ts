// `npm run check:kernel -- [CASE …]`: the limits of a session under a kernel whose controllers are those of cgroup v2, which the
// machine at hand may not have. Boots Debian's kernel in qemu with nothing but busybox and the holder.
//
//   DIALTONE_TEST_HOLDER   another holder (static) than that of build/
//   DIALTONE_KERNEL   another kernel (vmlinuz) than Debian's, which is downloaded, not installed
//
// Needs qemu-system-x86_64, cc, apt-get and dpkg-deb; no root, and nothing of this system is changed.

import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOLDER } from "../holder/raw-holder.ts";
import { blockOf, cases, problems, type Told } from "./cases.ts";

const root = join(import.meta.dirname, "../..");
const build = join(root, "build/kernel");
const names = process.argv.slice(2);
const wanted = cases.filter(({ name }) => names.length === 0 || names.includes(name));
if (wanted.length === 0) throw new Error(`there is no such case, only ${cases.map(({ name }) => name).join(", ")}`);
/** Emulated, on a busy machine, all of it takes two minutes. */
const TIMEOUT_MS = 900_000;

/** The first file below that passes; of a Debian package, which is downloaded once and unpacked, not installed. */
function fromPackage(name: string, path: (directory: string) => string | undefined): string {
	const directory = join(build, name);
	if (!existsSync(directory)) {
		console.log(`downloading ${name} …`);
		const partial = `${directory}.partial`;
		rmSync(partial, { recursive: true, force: true });
		mkdirSync(partial, { recursive: true });
		execFileSync("apt-get", ["-q", "download", name], { cwd: partial, stdio: ["ignore", "ignore", "pipe"] });
		const archive = readdirSync(partial).find((file) => file.endsWith(".deb"))!;
		execFileSync("dpkg-deb", ["-x", join(partial, archive), directory]);
		rmSync(partial, { recursive: true });
	}
	const found = path(directory);
	if (found === undefined) throw new Error(`${directory} has not what is needed of ${name}`);
	return found;
}

function kernel(): string {
	if (process.env.DIALTONE_KERNEL !== undefined) return process.env.DIALTONE_KERNEL;
	const depends = execFileSync("apt-cache", ["depends", "linux-image-cloud-amd64"], { encoding: "utf8" });
	const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1];
	if (name === undefined) throw new Error("apt knows no kernel: run `apt-get update`");
	return fromPackage(name, (directory) => {
		const file = readdirSync(join(directory, "boot")).find((each) => each.startsWith("vmlinuz"));
		return file && join(directory, "boot", file);
	});
}

/** The machine's only file system, as an archive that the kernel unpacks. */
function fileSystem(): string {
	const tree = join(build, "root");
	rmSync(tree, { recursive: true, force: true });
	mkdirSync(join(tree, "bin"), { recursive: true });
	const busybox = fromPackage("busybox-static", (directory) => join(directory, "bin/busybox"));
	copyFileSync(busybox, join(tree, "bin/busybox"));
	copyFileSync(HOLDER, join(tree, "bin/dialtone-holder"));
	execFileSync("cc", [
		"-O1",
		"-static",
		"-pthread",
		"-D_GNU_SOURCE",
		"-Wall",
		"-Wextra",
		"-Werror",
		"-o",
		join(tree, "bin/guest"),
		join(import.meta.dirname, "guest.c"),
	]);
	copyFileSync(join(import.meta.dirname, "init.sh"), join(tree, "init"));
	chmodSync(join(tree, "init"), 0o755);
	for (const each of wanted) {
		const directory = join(tree, "cases", each.name);
		mkdirSync(directory, { recursive: true });
		writeFileSync(join(directory, "block"), blockOf(each));
		writeFileSync(join(directory, "settings"), `${each.settings ?? ""}\n`);
	}
	const archive = join(build, "root.cpio");
	execFileSync("sh", ["-c", `find . | "${busybox}" cpio -o -H newc > "${archive}"`], {
		cwd: tree,
		stdio: ["ignore", "ignore", "pipe"],
	});
	return archive;
}

/** What the machine printed on its console until it ended. */
function boot(image: string, archive: string): Promise<string> {
	const options = ["-m", "320", "-smp", "1", "-nographic", "-no-reboot", "-nic", "none"];
	const line = "console=ttyS0 panic=-1 quiet cgroup_no_v1=all";
	const machine = spawn(
		"qemu-system-x86_64",
		["-accel", "tcg", ...options, "-kernel", image, "-initrd", archive, "-append", line],
		{
			stdio: ["ignore", "pipe", "inherit"],
			timeout: TIMEOUT_MS,
		},
	);
	return new Promise((resolve, reject) => {
		let text = "";
		machine.on("error", (error: NodeJS.ErrnoException) =>
			reject(
				error.code === "ENOENT" ? new Error("qemu-system-x86_64 is missing: apt-get install qemu-system-x86") : error,
			),
		);
		machine.stdout.on("data", (data) => {
			text += data;
		});
		machine.on("close", () => resolve(text));
	});
}

const image = kernel();
const archive = fileSystem();
console.log(`booting ${image} …`);
const before = performance.now();
const console_ = await boot(image, archive);
writeFileSync(join(build, "console.txt"), console_);

const machine: string[] = [];
const told = new Map<string, Record<string, string>>();
for (const [, name, key, value] of console_.matchAll(/^@ (\S+) (\S+) ?(.*?) *\r?$/gm)) {
	if (name === "machine") machine.push(`${key} ${value}`);
	else told.set(name!, { ...told.get(name!), [key!]: value! });
}
let failed = 0;
for (const each of wanted) {
	const wrong = problems(each, told.get(each.name) as Told | undefined, machine);
	console.log(`${wrong.length === 0 ? "ok     " : "FAILED "} ${each.says}`);
	for (const problem of wrong) console.log(`          ${problem}`);
	if (wrong.length > 0) failed++;
}
if (!machine.some((line) => line.startsWith("done"))) {
	console.log("FAILED  the machine did not get to its end");
	failed++;
}
const controllers = machine.find((line) => line.startsWith("controllers")) ?? "no controllers";
console.log(
	`${wanted.length} cases, ${failed} failed, ${Math.round((performance.now() - before) / 1000)} s (${controllers}); console: ${join(build, "console.txt")}`,
);
process.exitCode = failed === 0 ? 0 : 1;
