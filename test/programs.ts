// The programs that tests run and a bare Debian does not have.
//
// scripts/debian-packages.txt lists them. A test declares those it runs; where one
// is missing the test is skipped and the report at the end names it (end-report.ts),
// with CI set it fails. To run one without declaring it fails everywhere: PATH leads
// to a stub until the program is declared.

import { spawnSync } from "node:child_process";
import {
	accessSync,
	constants,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmdirSync,
	rmSync,
	symlinkSync,
} from "node:fs";
import { release, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext, TestOptions } from "vitest";

declare module "vitest" {
	interface TaskMeta {
		/** What kept the test from running, each with what it kept: the test itself, or a part of it. */
		missing?: readonly { readonly program: string; readonly part?: string }[];
	}
}

/** Program → Debian package. */
export const PACKAGES: ReadonlyMap<string, string> = new Map(
	readFileSync(join(import.meta.dirname, "../scripts/debian-packages.txt"), "utf8")
		.split("\n")
		.filter((line) => line !== "" && !line.startsWith("#"))
		.flatMap((line) => {
			const [name = "", ...programs] = line.split(" ");
			return programs.map((program) => [program, name] as const);
		}),
);

/** The font of pictures. */
export const MONOSPACE = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf";

const MAIN = join(import.meta.dirname, "../dist/main.js");
const STUB = join(import.meta.dirname, "fixtures/undeclared-program");

/** A directory for the front of PATH in which every program that is not declared is a stub. */
export function stubs(declared: readonly string[] = []): string {
	const directory = mkdtempSync(join(tmpdir(), "dt-stubs-"));
	for (const program of PACKAGES.keys())
		if (!program.startsWith("/") && !declared.includes(program)) symlinkSync(STUB, join(directory, program));
	return directory;
}

/** Where this worker's stubs are, once installed. */
let ownStubs: string | null = null;

/** Puts the stubs in front of this process's PATH; returns the function that takes them away. */
export function installStubs(): () => void {
	const directory = stubs();
	const before = process.env.PATH ?? "";
	process.env.PATH = `${directory}:${before}`;
	ownStubs = directory;
	return () => {
		process.env.PATH = before;
		ownStubs = null;
		rmSync(directory, { recursive: true });
	};
}

/** Servers and games are installed where PATH may not lead. */
const directories = [
	...(process.env.PATH ?? "").split(":"),
	"/usr/sbin",
	"/sbin",
	"/usr/games",
	...postgresDirectories(),
];

function postgresDirectories(): string[] {
	try {
		return readdirSync("/usr/lib/postgresql").map((version) => join("/usr/lib/postgresql", version, "bin"));
	} catch {
		return []; // not installed
	}
}

/** The full path of a program, or of a file the list names by its path; null where it is missing. */
export function find(program: string): string | null {
	const file = program.startsWith("/");
	for (const path of file ? [program] : directories.map((directory) => join(directory, program))) {
		try {
			accessSync(path, file ? constants.R_OK : constants.X_OK);
			return path;
		} catch {
			// not here
		}
	}
	return null;
}

/** Where the cgroups of version 2 are; beside those of version 1 they have a directory of their own. */
export const CGROUPS = existsSync("/sys/fs/cgroup/cgroup.procs") ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";

function canKillCgroups(): boolean {
	const probe = join(CGROUPS, `dt-probe-${process.pid}`);
	try {
		mkdirSync(probe);
	} catch {
		return false; // none here, or only to be read
	}
	const can = existsSync(join(probe, "cgroup.kill"));
	rmdirSync(probe);
	return can;
}

function canMakeCgroups(parent: string): boolean {
	const probe = join(parent, `dt-probe-${process.pid}`);
	try {
		mkdirSync(probe);
		const can = existsSync(join(probe, "cgroup.procs"));
		rmdirSync(probe);
		return can;
	} catch {
		return false; // none here, or only to be read
	}
}

/** What a test may need beside programs. */
const ABILITIES: Readonly<Record<string, () => boolean>> = {
	root: () => process.getuid?.() === 0,
	macOS: () => process.platform === "darwin",
	WSL: () => /microsoft/i.test(release()),
	/** Another user of this machine, who can run our command line. Root only, and not where the checkout is closed to others. */
	"second user": () =>
		process.getuid?.() === 0 &&
		spawnSync("setpriv", ["--reuid=54321", "--regid=54321", "--clear-groups", process.execPath, MAIN, "version"])
			.status === 0,
	/** The same, and users without privileges may make namespaces. */
	"user namespaces": () =>
		process.getuid?.() === 0 &&
		spawnSync("setpriv", [
			...["--reuid=54321", "--regid=54321", "--clear-groups", "unshare", "-U", "-r"],
			...[process.execPath, MAIN, "version"],
		]).status === 0,
	/** Root, and a kernel with FUSE. */
	"file systems": () => {
		try {
			accessSync("/dev/fuse", constants.R_OK | constants.W_OK);
			return process.getuid?.() === 0;
		} catch {
			return false; // not in this kernel or container
		}
	},
	/** Root, and cgroups of version 2 that can be made and killed. */
	cgroups: () => process.getuid?.() === 0 && canKillCgroups(),
	/** A share of the processor for each session. */
	autogroups: () => existsSync("/proc/self/autogroup"),
	/** Networks of its own, joined by a bridge and programs: root, and not in a container that forbids it. */
	"network namespaces": () =>
		process.getuid?.() === 0 &&
		[
			["link", "add", "type", "bridge"],
			["tuntap", "add", "mode", "tap"],
		].every((args) => spawnSync("unshare", ["-n", "-m", find("ip") ?? "false", ...args]).status === 0),
	/** Containers: root, namespaces of all kinds, and cgroups to put them in. */
	containers: () =>
		process.getuid?.() === 0 &&
		spawnSync("unshare", ["-m", "-p", "-n", "-i", "-u", "-f", "--mount-proc", "true"]).status === 0 &&
		["/sys/fs/cgroup", "/sys/fs/cgroup/pids"].some(canMakeCgroups),
	/** Mounts of its own: root, and not in a container that forbids it. */
	mounts: () => process.getuid?.() === 0 && spawnSync("unshare", ["-m", "true"]).status === 0,
};

/** Declares that the caller runs these programs or needs these abilities, and returns those that are missing. */
export function missing(...programs: readonly string[]): string[] {
	return programs.filter((program) => {
		const ability = ABILITIES[program];
		if (ability !== undefined) return !ability();
		const package_ = PACKAGES.get(program);
		if (package_ === undefined) throw new Error(`add ${program} to scripts/debian-packages.txt`);
		if (ownStubs !== null && !program.startsWith("/")) rmSync(join(ownStubs, program), { force: true });
		if (find(program) !== null) return false;
		if (process.env.CI) throw new Error(`${program} is missing, and CI is set: install ${package_}`);
		return true;
	});
}

/** Options of a test that runs these programs: `test("…", needing("vim"), async () => …)`. */
export function needing(...programs: readonly string[]): Pick<TestOptions, "skip" | "meta"> {
	const lacks = missing(...programs);
	return lacks.length === 0 ? {} : { skip: true, meta: { missing: lacks.map((program) => ({ program })) } };
}

/** The same from within a test, where the programs depend on its arguments. */
export function skipWithout({ task, skip }: TestContext, ...programs: readonly string[]): void {
	const lacks = missing(...programs);
	if (lacks.length === 0) return;
	task.meta.missing = lacks.map((program) => ({ program }));
	skip(`needs ${lacks.join(", ")}`);
}

/** The programs of the list that these arguments name, also within a line of shell. */
export function named(argv: readonly string[]): string[] {
	const words = argv.flatMap((argument) => argument.split(/[^\w.+-]+/));
	return [...new Set(words)].filter((word) => PACKAGES.has(word));
}

/** The system's PATH and our own node, without what the person who runs the tests has put there. */
export const SYSTEM_PATH = [
	...["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games"],
	dirname(process.execPath),
].join(":");
