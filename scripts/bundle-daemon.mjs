// Bundles the daemon's modules into dist/daemon-bundle.cjs, and keeps the code that V8 compiles for them while a daemon
// starts, adopts a session and answers: src/daemon.cts starts with it. Run by setup.mjs, after the holder and dist/ are
// built. The modules alone do the same, slower, so nothing here is needed for a daemon to work.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { build } from "esbuild";

const LISTEN_TIMEOUT_MS = 20_000;

const dist = join(import.meta.dirname, "../dist");
const bundle = join(dist, "daemon-bundle.cjs");
const code = join(dist, "daemon-bundle.code");

/** Modules find files relative to themselves: in the bundle, each still does. */
const ownPlaces = {
	name: "own places",
	setup({ onLoad, onResolve }) {
		onLoad({ filter: /[/\\]dist[/\\].*\.js$/ }, async ({ path }) => {
			const text = await readFile(path, "utf8");
			const here = (from) => `(__dirname + ${JSON.stringify(`/${relative(dist, from)}`)})`;
			const contents = text
				.replaceAll("import.meta.dirname", here(join(path, "..")))
				.replaceAll("import.meta.url", here(path));
			return { contents };
		});
		// Everything of ours is inside, HTTP and MCP too: a module that is loaded twice has each of its classes twice.
		onResolve({ filter: /^@resvg\// }, ({ path }) => ({ path, external: true }));
	},
};

async function bundled() {
	await build({
		entryPoints: [join(dist, "serve.js")],
		outfile: bundle,
		bundle: true,
		platform: "node",
		format: "cjs",
		target: "node20",
		logLevel: "error",
		plugins: [ownPlaces],
	});
}

/** What V8 has compiled when a daemon has done once what the first call after a restart needs. */
async function compiled() {
	const home = mkdtempSync(join(tmpdir(), "dialtone-bundle-"));
	process.env.DIALTONE_HOME = home;
	const { script, serve } = createRequire(import.meta.url)(join(dist, "daemon.cjs")).loadBundle();
	const { findDaemon } = await import(join(dist, "daemon/reach.js"));
	const { places } = await import(join(dist, "pty/places.js"));
	const { VERSION } = await import(join(dist, "version.js"));
	// A daemon says that it is ready on the standard output, where this script says nothing.
	const write = process.stdout.write;
	process.stdout.write = () => true;
	const caller = { owner: "setup", cwd: "/", env: {} };
	const find = () => findDaemon({ run: places(process.env).run, version: VERSION, caller });
	try {
		for (const sessions of [false, true]) {
			const daemon = serve.runInBackground();
			const client = await listening(find);
			await client.call("start", { name: "sh", argv: ["/bin/sh"], ifExists: "use" });
			await client.call("send", { session: "sh", text: "echo $((6 * 7))", submit: true });
			await client.call("list", {});
			await client.stop({ sessions });
			await daemon;
		}
		return script.createCachedData();
	} finally {
		process.stdout.write = write;
		rmSync(home, { recursive: true, force: true });
	}
}

/** The daemon in this process, as soon as it listens. */
async function listening(find) {
	const until = performance.now() + LISTEN_TIMEOUT_MS;
	for (;;) {
		const client = await find();
		if (client !== null) return client;
		if (performance.now() > until) throw new Error("the bundled daemon does not listen");
		await delay(5);
	}
}

for (const path of [bundle, code]) rmSync(path, { force: true });
await bundled();
writeFileSync(`${code}.tmp`, await compiled());
renameSync(`${code}.tmp`, code);
process.exit(); // listeners of two daemons for signals and warnings
