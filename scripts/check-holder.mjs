// What a compiler cannot see in the holder: its tests again under AddressSanitizer
// and UBSan, again under valgrind, and a bounded fuzz of what it reads from others:
// in parts, and as a whole under random clients (H13).
//
//   node scripts/check-holder.mjs [sanitizers] [valgrind] [fuzz] [live]     all by default
//   DIALTONE_FUZZ_SECONDS   per target, 30 by default
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const build = join(root, "build");
process.chdir(root);

function run(program, args, env = {}) {
	const { status, error } = spawnSync(program, args, { stdio: "inherit", env: { ...process.env, ...env } });
	if (error?.code === "ENOENT") console.error(`${program} is not installed; see scripts/debian-packages.txt`);
	return status === 0;
}

/** An empty directory for reports; a report that appears in it is a finding. */
function reports(name) {
	const directory = join(build, name);
	rmSync(directory, { recursive: true, force: true });
	mkdirSync(directory, { recursive: true });
	chmodSync(directory, 0o1777); // some tests run a holder as nobody
	return directory;
}

function clean(directory, isFinding) {
	const findings = readdirSync(directory).filter((file) => isFinding(readFileSync(join(directory, file), "utf8")));
	for (const file of findings) console.error(`--- ${file}\n${readFileSync(join(directory, file), "utf8")}`);
	return findings.length === 0;
}

const allTests = ["test/holder"];
// Valgrind keeps descriptors and limits of its own, so what a program inherits is not asked under it.
const conversations = ["output", "input", "owner", "end", "watch"].map((name) => `test/holder/${name}.test.ts`);
const holderTests = (files, env) =>
	run("node", ["node_modules/vitest/vitest.mjs", "run", "--project", "real", "--testTimeout", "600000", ...files], env);

/** Calls `use` with the environment for a holder with sanitizers; whether that went well and they found nothing. */
function sanitized(use) {
	const holder = join(build, "dialtone-holder-sanitized");
	const directory = reports("sanitizer-reports");
	const flags = "-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined";
	const built = run("node", ["scripts/build-holder.mjs"], {
		DIALTONE_HOLDER_CFLAGS: flags,
		DIALTONE_HOLDER_OUT: holder,
	});
	const options = `log_path=${join(directory, "report")}:exitcode=99:detect_leaks=1`;
	return (
		built &&
		use({
			DIALTONE_TEST_HOLDER: holder,
			DIALTONE_TEST_SLOWED: "1",
			ASAN_OPTIONS: options,
			UBSAN_OPTIONS: `${options}:print_stacktrace=1`,
		}) &&
		// Where a test allows no more processes, the leak checker can't start its own.
		clean(directory, (text) => !text.includes("LeakSanitizer has encountered a fatal error"))
	);
}

const sanitizers = () => sanitized((env) => holderTests(allTests, env));

const live = () => {
	const seconds = process.env.DIALTONE_FUZZ_SECONDS ?? "30";
	return sanitized((env) => run("node", ["--import", "tsx", "holder/fuzz/fuzz-live.ts", seconds], env));
};

function valgrind() {
	const holder = join(build, "dialtone-holder-debug"); // not static: valgrind replaces malloc by its name
	const directory = reports("valgrind-reports");
	const built = run("node", ["scripts/build-holder.mjs"], {
		DIALTONE_HOLDER_CFLAGS: "-g -O1",
		DIALTONE_HOLDER_OUT: holder,
	});
	// Not what is only possibly lost: that is the memory of threads that wait when the holder exits.
	const through = `valgrind --quiet --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --track-fds=no --log-file=${directory}/%p.log`;
	return (
		built &&
		holderTests(conversations, {
			DIALTONE_TEST_HOLDER: holder,
			DIALTONE_TEST_SLOWED: "1",
			DIALTONE_TEST_THROUGH: through,
		}) &&
		clean(directory, (text) =>
			/==\d+== (?!Warning: noted but unhandled ioctl| +This could cause| +See README)/.test(text),
		)
	);
}

const targets = {
	block: ["block.c"],
	frames: ["frame.c", "input.c", "pace.c", "patterns.c"],
	input: ["input.c", "pace.c"],
	mask: ["mask.c", "patterns.c"],
};

function fuzz() {
	const seconds = process.env.DIALTONE_FUZZ_SECONDS ?? "30";
	return Object.entries(targets).every(([name, sources]) => {
		const program = join(build, `fuzz-${name}`);
		const found = join(build, `fuzz-${name}-found`); // new inputs; crashes; minimise into the corpus by -merge=1
		mkdirSync(found, { recursive: true });
		const flags = [
			"-g",
			"-O1",
			"-std=c11",
			"-D_GNU_SOURCE",
			"-fsanitize=fuzzer,address,undefined",
			"-fno-sanitize-recover=undefined",
		];
		const files = [`holder/fuzz/fuzz-${name}.c`, ...sources.map((file) => `holder/${file}`)];
		if (!run("clang", [...flags, "-o", program, ...files])) return false;
		console.error(`fuzzing ${name} for ${seconds} s`);
		const limits = [`-max_total_time=${seconds}`, "-max_len=8192", "-timeout=10", "-rss_limit_mb=1024", "-verbosity=0"];
		return run(program, [...limits, `-artifact_prefix=${found}/crash-`, found, `holder/fuzz/corpus-${name}`]);
	});
}

const checks = { sanitizers, valgrind, fuzz, live };
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in checks));
if (unknown.length > 0 || !existsSync("node_modules")) {
	console.error(unknown.length > 0 ? `no such check: ${unknown.join(", ")}` : "run `npm run setup` first");
	process.exit(2);
}
for (const [name, check] of Object.entries(checks)) {
	if (wanted.length > 0 && !wanted.includes(name)) continue;
	if (!check()) {
		console.error(`holder: ${name} found something`);
		process.exit(1);
	}
	console.error(`holder: ${name} found nothing`);
}
