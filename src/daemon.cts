// The process of a daemon in the background: as one bundle with the code that V8 compiled for it at build time
// (scripts/bundle-daemon.mjs), because loading and compiling its 250 modules takes three times as long as node itself.
// Where the bundle is missing it runs the modules; V8 refuses compiled code that is damaged or of another version, and
// compiles the bundle anew.

const { readFileSync } = require("node:fs") as typeof import("node:fs");
const { join } = require("node:path") as typeof import("node:path");
const { setFlagsFromString } = require("node:v8") as typeof import("node:v8");
const { Script, constants } = require("node:vm") as typeof import("node:vm");

const BUNDLE = join(__dirname, "daemon-bundle.cjs");
const CODE = join(__dirname, "daemon-bundle.code");
const PARAMETERS = ["exports", "require", "module", "__filename", "__dirname"];

type Serve = typeof import("./serve.js", { with: { "resolution-mode": "import" }});

/** The bundle, and its script with whatever has been compiled of it; null when there is none. */
function loadBundle(): { readonly script: import("node:vm").Script; readonly serve: Serve } | null {
	const source = contentOf(BUNDLE);
	if (source === null) return null;
	const compiled = contentOf(CODE);
	const script = new Script(`(function (${PARAMETERS.join(", ")}) {${source.toString("utf8")}\n})`, {
		filename: BUNDLE,
		importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
		...(compiled !== null && { cachedData: compiled }),
	});
	const loaded = { exports: {} as Serve };
	script.runInThisContext()(loaded.exports, require, loaded, BUNDLE, __dirname);
	return { script, serve: loaded.exports };
}

function contentOf(path: string): Buffer | null {
	try {
		return readFileSync(path);
	} catch {
		return null; // not built
	}
}

async function main(): Promise<void> {
	const serve = loadBundle()?.serve ?? (await import("./serve.js"));
	// After a burst V8 would keep 32 MB for new objects: as much as the daemon itself, and as a thousand idle sessions.
	// Only now: compiled code is refused where flags differ.
	setFlagsFromString("--semi-space-growth-factor=1");
	// What is still open must not keep a daemon that has stopped beside the next one.
	process.exit(await serve.runInBackground());
}

if (require.main === module) void main();
else module.exports = { loadBundle };
