// `npm run conformance`: the MCP conformance suite and the Inspector's command line
// against our server. Both want a newer Node than we do, so they are fetched from the
// npm registry together with their own, into build/conformance, and not kept among
// our packages. What does not apply is listed by name and reason in
// test/conformance/not-applicable.json; anything else that fails is a failure, and so
// is a listed scenario that passes.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "..");
const place = join(root, "build/conformance");
const PACKAGES = [
	"node@24",
	"@modelcontextprotocol/conformance@0.2.0-alpha.12",
	"@modelcontextprotocol/inspector@2.12.0",
];
const bin = (name) => join(place, "node_modules/.bin", name);
const env = { ...process.env, PATH: `${join(place, "node_modules/.bin")}:${process.env.PATH}` };

function fetchSuites() {
	const stamp = join(place, "packages.json");
	if (existsSync(stamp) && readFileSync(stamp, "utf8") === JSON.stringify(PACKAGES)) return;
	console.log("fetching the suites …");
	mkdirSync(place, { recursive: true });
	writeFileSync(join(place, "package.json"), '{ "private": true }\n');
	const install = ["install", "--no-audit", "--no-fund", "--loglevel=error", ...PACKAGES];
	const { status } = spawnSync("npm", install, { cwd: place, stdio: "inherit" });
	if (status !== 0) process.exit(1);
	writeFileSync(stamp, JSON.stringify(PACKAGES));
}

/** Scenario → whether all its checks passed. */
function runSuite(url, args) {
	const { stdout } = spawnSync(bin("conformance"), ["server", "--url", url, ...args], { env, encoding: "utf8" });
	const results = new Map();
	for (const [, mark, name, passed, failed] of stdout.matchAll(/^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed$/gm))
		results.set(name, { ok: mark === "✓", passed: Number(passed), failed: Number(failed) });
	if (results.size === 0) throw new Error(`the suite said nothing:\n${stdout}`);
	return results;
}

function inspect(target, args) {
	const { status, stdout, stderr } = spawnSync(bin("mcp-inspector"), ["--cli", ...target, ...args], {
		env,
		encoding: "utf8",
		timeout: 60_000,
	});
	return { ok: status === 0, stdout, stderr };
}

fetchSuites();
const server = spawn(join(root, "node_modules/.bin/tsx"), [join(root, "test/conformance/server.ts")], {
	stdio: ["ignore", "pipe", "inherit"],
});
const [url] = await once(createInterface({ input: server.stdout }), "line");
let wrong = 0;
const say = (mark, text) => console.log(`${mark} ${text}`);
try {
	const notApplicable = JSON.parse(readFileSync(join(root, "test/conformance/not-applicable.json"), "utf8"));
	const runs = [
		["2025-06-18", ["--spec-version", "2025-06-18"]],
		["2025-11-25", ["--spec-version", "2025-11-25"]],
		["2026-07-28", ["--requirements", "2026-07-28"]],
	];
	for (const [revision, args] of runs) {
		console.log(`\nMCP ${revision}`);
		for (const [name, { ok, passed, failed }] of runSuite(url, args)) {
			const listed = notApplicable[name];
			const { reason, failed: allowed } = typeof listed === "string" ? { reason: listed } : (listed ?? {});
			const known = reason !== undefined && failed === (allowed ?? failed);
			if (ok && reason === undefined) say("✓", `${name}: ${passed} checks`);
			else if (!ok && known) say("–", `${name}${allowed ? `, ${passed} checks pass` : ""}: ${reason}`);
			else {
				wrong++;
				say(
					"✗",
					ok ? `${name} passes now: take it off the list` : `${name}: ${failed} of ${passed + failed} checks failed`,
				);
			}
		}
	}
	console.log("\nInspector");
	const stdio = [process.execPath, join(root, "dist/main.js"), "mcp"];
	const looks = [
		["tools/list over HTTP", [url, "--transport", "http"], ["--method", "tools/list"], '"start"'],
		["tools/list on stdio", stdio, ["--method", "tools/list"], '"start"'],
		[
			"resources/list over HTTP",
			[url, "--transport", "http"],
			["--method", "resources/list"],
			"dialtone://sessions/fixture",
		],
		[
			"tools/call over HTTP",
			[url, "--transport", "http"],
			["--method", "tools/call", "--tool-name", "read", "--tool-arg", "session=fixture"],
			"[fixture]",
		],
	];
	for (const [what, target, args, expected] of looks) {
		const { ok, stdout, stderr } = inspect(target, args);
		if (ok && stdout.includes(expected)) say("✓", what);
		else {
			wrong++;
			say("✗", `${what}: ${stderr || stdout}`);
		}
	}
} finally {
	server.kill("SIGTERM");
	await once(server, "exit");
}
console.log(wrong === 0 ? "\nAll that applies passes." : `\n${wrong} failed.`);
process.exitCode = wrong === 0 ? 0 : 1;
