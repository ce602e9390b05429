// The container recipe, as far as it goes without a container: the entry point under tini as PID 1 of a PID namespace, and
// what the manifests say.

import { execFileSync, spawn } from "node:child_process";
import {
	chmodSync,
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { readCredentials } from "../../src/fleet/credentials.ts";
import { addLeaf, initFleet } from "../../src/fleet/init.ts";
import { within } from "../../src/pty/wait.ts";
import { until } from "../condition.ts";
import { MAIN } from "../daemon/home.ts";
import { versioned } from "../daemon/versioned.ts";
import { BROKER_NEEDS, Brokers } from "../fleet/broker.ts";
import { find, needing, SYSTEM_PATH } from "../programs.ts";

const root = join(import.meta.dirname, "../..");
const MANIFEST = join(root, "deploy/kubernetes.yaml");
const PYTHON_YAML = "/usr/lib/python3/dist-packages/yaml/__init__.py";

/** A PID namespace whose first process is tini with our entry point: a container, as far as processes go. */
class Contained implements AsyncDisposable {
	readonly #base = mkdtempSync(join(tmpdir(), "dt-contained-"));
	readonly #env: NodeJS.ProcessEnv;
	readonly #unshare;
	readonly exited: Promise<number | null>;
	said = "";

	constructor(env: NodeJS.ProcessEnv = {}, { build = root, entryPoint = join(root, "deploy/entrypoint") } = {}) {
		const bin = join(this.#base, "bin");
		mkdirSync(bin);
		this.install(build);
		mkdirSync(join(this.#base, "home"), { mode: 0o700 });
		this.#env = {
			PATH: `${bin}:${process.env.PATH}`,
			HOME: this.#base,
			SHELL: "/bin/bash",
			DIALTONE_HOME: join(this.#base, "home"),
			...env,
		};
		const inside = ["--", find("tini")!, "--", entryPoint];
		this.#unshare = spawn("unshare", ["--pid", "--fork", "--mount-proc", "--kill-child", ...inside], {
			env: this.#env,
			stdio: ["ignore", "pipe", "pipe"],
		});
		for (const stream of [this.#unshare.stdout, this.#unshare.stderr])
			stream.setEncoding("utf8").on("data", (text: string) => {
				this.said += text;
			});
		this.exited = new Promise((resolve) => this.#unshare.on("exit", resolve));
	}

	/** The build that `dialtone` is from now on. */
	install(directory: string): void {
		const main = join(directory, "dist/main.js");
		const command = join(this.#base, "bin/dialtone");
		writeFileSync(`${command}.new`, `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`, { mode: 0o755 });
		renameSync(`${command}.new`, command);
	}

	/** Of tini, outside. */
	get pid(): number {
		const children = readFileSync(`/proc/${this.#unshare.pid}/task/${this.#unshare.pid}/children`, "utf8");
		return Number(children.trim().split(" ")[0]);
	}

	run(...argv: readonly string[]): string {
		const args = ["-t", String(this.pid), "-p", "-m", "--", ...argv];
		return execFileSync("nsenter", args, { env: this.#env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
	}

	status(): { readonly pid: number; readonly version: string } {
		return JSON.parse(this.run("dialtone", "daemon", "status", "--json"));
	}

	/** Null while none runs. */
	daemon(): number | null {
		try {
			return this.status().pid;
		} catch {
			return null; // none runs: the exit code says so
		}
	}

	/** pid, parent, state and name of each process inside. */
	processes(): readonly {
		readonly pid: number;
		readonly parent: number;
		readonly state: string;
		readonly name: string;
	}[] {
		return this.run("ps", "-eo", "pid=,ppid=,stat=,comm=")
			.trim()
			.split("\n")
			.map((line) => line.trim().split(/\s+/))
			.map(([pid, parent, state = "", name = ""]) => ({ pid: Number(pid), parent: Number(parent), state, name }));
	}

	recorded(): readonly { readonly name: string; readonly state: string }[] {
		const home = join(this.#base, "home");
		const list = execFileSync(process.execPath, [join(root, "dist/main.js"), "ls", "-a", "--json"], {
			env: { ...this.#env, DIALTONE_HOME: home },
			encoding: "utf8",
		});
		execFileSync(process.execPath, [join(root, "dist/main.js"), "daemon", "stop"], {
			env: { ...this.#env, DIALTONE_HOME: home },
		});
		const { sessions } = JSON.parse(list) as { sessions: { name: string; status: string }[] };
		return sessions.map(({ name, status }) => ({ name, state: status }));
	}

	terminate(): void {
		process.kill(this.pid, "SIGTERM");
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#unshare.kill("SIGKILL");
		await this.exited;
		rmSync(this.#base, { recursive: true, force: true });
	}
}

describe("the container's processes", needing("tini", "containers", "ps"), () => {
	test("sessions outlive a daemon that is killed, stopped or restarted, and are ended in order with the container", async () => {
		await using inside = new Contained();
		const first = await until("a daemon runs", () => inside.daemon());
		inside.run("dialtone", "start", "--name", "py", "--", "sh", "-c", 'while read x; do echo "got $x"; done');
		const answers = (word: string) =>
			expect(inside.run("dialtone", "send", "py", word), inside.said).toContain(`got ${word}`);
		answers("one");
		const holder = inside.processes().find(({ name }) => name.startsWith("dialtone-holder"));
		expect(holder?.parent).toBe(1);
		const next = (before: number) =>
			until("the next daemon runs", () => {
				const pid = inside.daemon();
				return pid !== null && pid !== before ? pid : null;
			});

		inside.run("kill", "-9", String(first));
		const second = await next(first);
		answers("two");
		inside.run("dialtone", "daemon", "stop");
		const third = await next(second);
		answers("three");
		inside.run("dialtone", "daemon", "restart");
		const fourth = await next(third);
		answers("four");
		// The one that `restart` has started is followed by another, too.
		inside.run("kill", "-9", String(fourth));
		await next(fourth);
		answers("five");
		expect(inside.processes().find(({ name }) => name.startsWith("dialtone-holder"))?.pid).toBe(holder?.pid);
		expect(inside.processes().filter(({ state }) => state.startsWith("Z"))).toEqual([]);

		// At the moment at which the entry point starts one that would follow.
		inside.run("dialtone", "daemon", "restart");
		inside.terminate();
		await within(60_000, "the container ends", inside.exited);
		expect(inside.recorded()).toEqual([{ name: "py", state: "cancelled" }]);
	});

	test("an upgrade to another build keeps the sessions, with every byte", async () => {
		const newer = versioned("99.0.0");
		try {
			await using inside = new Contained();
			const first = await until("a daemon runs", () => inside.daemon());
			const counts = "i=0; while :; do i=$((i+1)); echo $i; [ $i -lt 3000 ] || read x; sleep 0.001; done";
			inside.run("dialtone", "start", "--name", "counter", "--until", "1", "--", "sh", "-c", counts);
			const holders = () =>
				inside
					.processes()
					.filter(({ name }) => name.startsWith("dialtone-holder"))
					.map(({ pid, parent }) => ({ pid, parent }));
			const before = holders();

			inside.install(newer);
			inside.run("dialtone", "daemon", "restart");
			await until(
				"the new build's daemon runs",
				() => inside.daemon() !== null && inside.status().version === "99.0.0",
			);
			expect(inside.daemon()).not.toBe(first);
			expect(holders()).toEqual(before);
			inside.run("dialtone", "wait", "counter", "--until", "3000", "-t", "60s");
			const lines = inside.run("dialtone", "logs", "counter").split("\n").map(Number).slice(0, 3000);
			expect(lines).toEqual(Array.from({ length: 3000 }, (_, index) => index + 1));
			// The entry point follows what the new build does, too.
			inside.run("kill", "-9", String(inside.daemon()));
			await until("the next daemon runs", () => inside.daemon());
			expect(inside.status().version).toBe("99.0.0");
			expect(holders()).toEqual(before);
		} finally {
			rmSync(newer, { recursive: true });
		}
	});
});

/** Where the recipe's build stage has this checkout. */
const BUILT = "/opt/dialtone";

/** What the last stage of the recipe takes from the build stage, put where it says, below a directory; without what is for development. */
function copyAsTheRecipe(base: string): void {
	const recipe = readFileSync(join(root, "deploy/Containerfile"), "utf8");
	const copies = [...recipe.matchAll(/^COPY --from=build (\S+) (\S+)$/gm)];
	expect(copies.length).toBeGreaterThan(3);
	for (const [, from = "", to = ""] of copies) {
		const source = join(root, relative(BUILT, from));
		const target = join(base, to.endsWith("/") ? join(to, basename(from)) : to);
		mkdirSync(dirname(target), { recursive: true });
		if (basename(from) !== "node_modules") cpSync(source, target, { recursive: true });
		else
			for (const name of productionPackages()) cpSync(join(root, name), join(target, "..", name), { recursive: true });
	}
}

/** `node_modules/NAME`: what `npm prune --omit=dev` leaves. */
function productionPackages(): readonly string[] {
	const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
		readonly packages: Readonly<Record<string, { readonly dev?: true; readonly devOptional?: true }>>;
	};
	return Object.entries(lock.packages)
		.filter(([path, { dev, devOptional }]) => path !== "" && !dev && !devOptional && existsSync(join(root, path)))
		.map(([path]) => path);
}

test(
	"the files that the recipe copies are all that the container's programs need",
	needing("tini", "containers", "ps"),
	async () => {
		const base = mkdtempSync(join(tmpdir(), "dt-copied-"));
		try {
			copyAsTheRecipe(base);
			const entryPoint = join(base, "usr/local/bin/dialtone-entrypoint");
			// Nothing listens there: it is asked all the same.
			const fleet = { DIALTONE_JOIN: "nats://127.0.0.1:1", DIALTONE_HOST: "node" };
			await using inside = new Contained(fleet, { build: join(base, BUILT), entryPoint });
			const daemon = await until("a daemon runs", () => inside.daemon());
			expect(inside.run("cat", `/proc/${daemon}/cmdline`)).toContain(base);
			inside.run("dialtone", "start", "--name", "cat", "--", "cat");
			expect(inside.run("dialtone", "send", "cat", "hello")).toContain("hello");
			expect(inside.run("dialtone", "run", "cd /usr; pwd")).toContain("/usr");
			expect(inside.run("dialtone", "ls")).toContain("cat");
			expect(inside.run("dialtone", "help", "start")).toContain("--name");
			expect(inside.run("dialtone", "export", "cat", "-f", "svg")).toContain("<svg");
			inside.run("dialtone", "mcp"); // until its input ends, which is at once
			await until("it has tried to join", () => inside.said.includes("fleet's servers are not reached"));
			inside.terminate();
			await within(60_000, "the container ends", inside.exited);
			expect(inside.said).not.toMatch(/Cannot find|MODULE_NOT_FOUND|ENOENT/);
		} finally {
			rmSync(base, { recursive: true, force: true });
		}
	},
);

describe("a container of a fleet", needing("tini", "containers", "ps", ...BROKER_NEEDS), () => {
	test("joins with a secret that is mounted as Kubernetes does it, also where the servers come up later", async () => {
		await using brokers = await Brokers.start();
		await brokers.kill(0);
		const mounted = mkdtempSync(join(tmpdir(), "dt-mounted-"));
		mkdirSync(join(mounted, "..data"), { mode: 0o755 });
		copyFileSync(brokers.credentials("admin"), join(mounted, "..data/host.creds"));
		chmodSync(join(mounted, "..data/host.creds"), 0o444);
		symlinkSync("..data/host.creds", join(mounted, "host.creds"));
		await using inside = new Contained({
			DIALTONE_JOIN: brokers.servers[0],
			DIALTONE_CREDENTIALS: join(mounted, "host.creds"),
			DIALTONE_HOST: "Node-1.example",
			DIALTONE_LABELS: "gpu=a100 site=here",
		});
		await until("it cannot join yet", () => inside.said.includes("fleet's servers are not reached"));
		inside.run("dialtone", "start", "--name", "cat", "--", "cat");
		expect(inside.run("dialtone", "send", "cat", "hello")).toContain("hello");
		await brokers.restart(0);
		await until("it has joined", () => {
			try {
				const [host] = JSON.parse(inside.run("dialtone", "fleet", "hosts", "--json")) as object[];
				expect(host).toMatchObject({
					host: "node-1-example",
					reachable: true,
					labels: { gpu: "a100", site: "here" },
				});
				return true;
			} catch {
				return false; // not yet
			}
		});
		rmSync(mounted, { recursive: true });
	});
});

interface Document {
	readonly kind: string;
	readonly metadata: { readonly namespace: string };
	// biome-ignore lint/suspicious/noExplicitAny: what Kubernetes takes has no type here
	readonly spec?: any;
}

function documents(): readonly Document[] {
	const script = "import json,sys,yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
	const env = { PATH: SYSTEM_PATH };
	return JSON.parse(execFileSync("python3", ["-c", script, MANIFEST], { encoding: "utf8", env })) as Document[];
}

describe("the manifests", () => {
	test("are YAML, and say what the recipe says", needing("python3", PYTHON_YAML), () => {
		const all = documents();
		expect(all.map(({ kind }) => kind)).toEqual(["DaemonSet"]);
		expect(new Set(all.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["dialtone"]));
		const { spec } = all[0]!.spec.template;
		const recipe = readFileSync(join(root, "deploy/Containerfile"), "utf8");
		const [daemon, leaf] = spec.containers;
		expect(recipe).toContain(`--uid ${daemon.securityContext.runAsUser} `);
		const [state] = daemon.volumeMounts;
		expect(recipe).toContain(`VOLUME ${state.mountPath}\n`);
		const volumes = spec.volumes.map(({ name }: { name: string }) => name);
		for (const container of [...spec.initContainers, daemon, leaf])
			for (const { name } of container.volumeMounts) expect(volumes).toContain(name);
		for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
			expect(daemon[probe].exec.command).toEqual(["dialtone", "daemon", "status"]);
		const environment = readFileSync(join(root, "deploy/entrypoint"), "utf8");
		for (const { name } of daemon.env) if (name.startsWith("DIALTONE_")) expect(environment).toContain(name);
	});

	test(
		"have only fields that Kubernetes knows, of the types that they have there",
		needing("kubectl", "python3", PYTHON_YAML),
		() => {
			// A change of its own, or it would print nothing; what its types do not know is not in what it prints.
			const change = ["set", "image", "--local", "-f", MANIFEST, "dialtone=dialtone:other", "-o", "json"];
			const taken = JSON.parse(execFileSync("kubectl", change, { encoding: "utf8" })) as object;
			const [written] = documents();
			written!.spec.template.spec.containers[0].image = "dialtone:other";
			expect(taken).toMatchObject(written!);
		},
	);

	test(
		"mount and name what the commands of their comments make",
		needing("python3", PYTHON_YAML, ...BROKER_NEEDS),
		() => {
			const cwd = mkdtempSync(join(tmpdir(), "dt-manifest-"));
			const dialtone = (...args: string[]) => execFileSync(process.execPath, [MAIN, ...args], { cwd, stdio: "pipe" });
			dialtone("fleet", "init", "fleet");
			const shown = readFileSync(MANIFEST, "utf8")
				.split("\n")
				.map((line) => /^#\s+((?:dialtone|kubectl) [^#]*)/.exec(line)?.[1]?.trim().split(/\s+/) ?? []);
			for (const [, ...args] of shown.filter(([program]) => program === "dialtone")) dialtone(...args);

			/** What each secret is made of: one file, or those in a directory. */
			const made = new Map<string, string>();
			for (const words of shown.filter((each) => each.includes("secret"))) {
				const [name = "", from = ""] = words.slice(words.indexOf("generic") + 1);
				made.set(name, join(cwd, from.replace("--from-file=", "")));
			}
			const { spec } = documents()[0]!.spec.template;
			const [daemon, leaf] = spec.containers;
			const of = (
				container: { readonly volumeMounts: readonly { name: string; mountPath: string }[] },
				path: string,
			) => {
				const { name, mountPath } = container.volumeMounts.find((each) => path.startsWith(`${each.mountPath}/`))!;
				const { secret } = spec.volumes.find((each: { name: string }) => each.name === name);
				const source = made.get(secret.secretName)!;
				const file = path.slice(mountPath.length + 1);
				return statSync(source).isDirectory() ? join(source, file) : join(source, "..", file);
			};
			const value = (name: string) => daemon.env.find((each: { name: string }) => each.name === name).value as string;

			const credentials = of(daemon, value("DIALTONE_CREDENTIALS"));
			expect([...made.values()]).toContain(credentials);
			expect(readCredentials(credentials).member).toMatchObject({ role: "host", host: "*" });
			const configuration = readFileSync(of(leaf, join(leaf.workingDir, leaf.args[1])), "utf8");
			const [, address] = /^listen: "(.*)"$/m.exec(configuration)!;
			expect(value("DIALTONE_JOIN")).toBe(`tls://${address}`);
			rmSync(cwd, { recursive: true });
		},
	);

	test("start a leaf node with the files that `fleet leaf` writes", needing(...BROKER_NEEDS), () => {
		const [, config = ""] = /args: \["-c", "(\S+)", "--name"/.exec(readFileSync(MANIFEST, "utf8")) ?? [];
		const directory = join(mkdtempSync(join(tmpdir(), "dt-leaf-")), "fleet");
		initFleet(directory);
		const cwd = addLeaf(directory, "main", { name: "k8s", host: "127.0.0.1", port: 4222 });
		// `-t` reads the configuration and ends.
		execFileSync("nats-server", ["-t", "-c", config, "--name", "node"], { cwd, stdio: "pipe" });
		rmSync(join(directory, ".."), { recursive: true });
	});
});
