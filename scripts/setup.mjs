// Makes a bare clone runnable: installs packages, builds the holder, compiles
// TypeScript, builds the web page; each only when its inputs changed. With --test it also installs the
// Debian packages that tests run, where it may. Uses nothing but Node, so that it
// can run before anything is installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const stamps = join(root, ".setup");
process.chdir(root);

/** Every file below the given paths, in a stable order. */
function filesBelow(paths) {
	return paths.flatMap((path) => {
		const stats = statSync(path, { throwIfNoEntry: false });
		if (!stats?.isDirectory()) return stats ? [path] : [];
		return readdirSync(path, { recursive: true, withFileTypes: true })
			.filter((entry) => entry.isFile())
			.map((entry) => join(entry.parentPath, entry.name))
			.sort();
	});
}

function fingerprint(paths) {
	const hash = createHash("sha256").update(process.version + process.arch);
	for (const file of filesBelow(paths)) hash.update(file).update(readFileSync(file));
	return hash.digest("hex");
}

function step({ name, inputs, output, say, run }) {
	const stamp = join(stamps, name);
	const now = fingerprint(inputs);
	if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, "utf8") === now) return;
	console.error(`dialtone: ${say} …`);
	const started = Date.now();
	run();
	mkdirSync(stamps, { recursive: true });
	writeFileSync(stamp, now);
	console.error(`dialtone: ${say}: done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

function command(program, args, help) {
	const { status, error } = spawnSync(program, args, { stdio: ["ignore", 2, 2] });
	if (status === 0) return;
	console.error(`dialtone: \`${program} ${args.join(" ")}\` failed${error ? `: ${error.message}` : ""}. ${help}`);
	process.exit(1);
}

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
	console.error(`dialtone: Node ${process.versions.node} is too old. Install Node 20.19 or newer.`);
	process.exit(1);
}

step({
	name: "packages",
	inputs: ["package-lock.json", ".npmrc"],
	output: "node_modules/.package-lock.json",
	say: "installing npm packages",
	// Not `npm ci`: it refuses where a registry lacks an optional binary for some other platform.
	run: () =>
		command(
			"npm",
			["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"],
			"Is the npm registry reachable?",
		),
});
step({
	name: "holder",
	inputs: ["holder", "native", "scripts/build-holder.mjs"],
	output: "build/dialtone-holder",
	say: "building the holder",
	run: () => command(process.execPath, ["scripts/build-holder.mjs"], "See the message above."),
});
step({
	name: "typescript",
	inputs: ["src", "tsconfig.json", "tsconfig.build.json", "package-lock.json"],
	output: "dist/main.js",
	say: "compiling TypeScript",
	run: () =>
		command(
			process.execPath,
			["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"],
			"Fix the errors above and run it again.",
		),
});
step({
	name: "page",
	inputs: ["web", "src/terminal/colors.ts", "src/terminal/contrast.ts", "package-lock.json"],
	output: "dist/web/index.html",
	say: "building the web page",
	run: () =>
		command(
			process.execPath,
			["node_modules/vite/bin/vite.js", "build", "--config", "web/vite.config.ts", "--logLevel", "warn"],
			"Fix the errors above and run it again.",
		),
});
step({
	name: "bundle",
	inputs: ["src", "holder", "package-lock.json", "scripts/bundle-daemon.mjs"],
	output: "dist/daemon-bundle.code",
	say: "bundling the daemon",
	run: () => command(process.execPath, ["scripts/bundle-daemon.mjs"], "See the message above."),
});
if (process.argv.includes("--test"))
	command("sh", ["scripts/install-debian-packages.sh", "--tests"], "See the message above.");
