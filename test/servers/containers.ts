// Containers of our own: a dockerd on a socket in a directory of its own, or podman with a store of its own, and a
// container with nothing but busybox in it. No registry and no network is needed, and none of the machine's containers is seen.

import { execFileSync, spawn } from "node:child_process";
import {
	chmodSync,
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { until } from "../condition.ts";
import { find } from "../programs.ts";

export type ContainerTool = "docker" | "podman";

export interface Container extends AsyncDisposable {
	/** Its name, for both tools. */
	readonly name: string;
	/** What leads the tool to it. */
	readonly env: Readonly<Record<string, string>>;
	/** The lines that `ps` shows in it. */
	processes(): string;
}

export const CONTAINER_NEEDS: Readonly<Record<ContainerTool, readonly string[]>> = {
	docker: ["docker", "dockerd", "busybox", "containers"],
	podman: ["podman", "runc", "busybox", "containers"],
};
const APPLETS = ["sh", "sleep", "cat", "env", "pwd", "echo", "ps", "printf", "stty", "vi", "login", "tty", "kill"];
const NAME = "dt-box";
/** Ended by PID 1 with the container. */
const WAITS = ["/bin/sh", "-c", "trap exit TERM; while :; do sleep 1; done"];
/** More than this a container may not ask for where we may not raise our own. */
const LIMITS = ["nofile=1024:1024", "nproc=4096:4096"];

/** The tree of the image, as a tar. */
function image(directory: string): Buffer {
	const busybox = find("busybox")!;
	const at = (path: string) => join(directory, "root", path);
	for (const path of ["bin", "tmp", "srv/a b", "root", "etc"]) mkdirSync(at(path), { recursive: true });
	copyFileSync(busybox, at("bin/busybox"));
	const libraries = execFileSync("ldd", [busybox], { encoding: "utf8" }).match(/\/\S+/g) ?? [];
	for (const library of libraries) {
		mkdirSync(at(dirname(library)), { recursive: true });
		copyFileSync(library, at(library));
	}
	for (const applet of APPLETS) symlinkSync("busybox", at(`bin/${applet}`));
	writeFileSync(at("etc/passwd"), "root:x:0:0::/root:/bin/sh\n");
	return execFileSync("tar", ["-C", at("."), "-c", "."], { maxBuffer: 64 << 20 });
}

/** `volumes`: of the machine, as the tool takes them. */
export async function startContainer(
	tool: ContainerTool,
	{ volumes = [] }: { readonly volumes?: readonly string[] } = {},
): Promise<Container> {
	const directory = mkdtempSync(join(tmpdir(), `dt-${tool}-`));
	chmodSync(directory, 0o755);
	const { env, stop } = tool === "docker" ? await docker(directory) : podman(directory);
	const run = (args: readonly string[], input?: Buffer) =>
		execFileSync(find(tool)!, args, { env: { ...process.env, ...env }, encoding: "utf8", ...(input && { input }) });
	run(["import", "-", "dt-image"], image(directory));
	const limits = tool === "docker" ? [] : LIMITS.flatMap((limit) => ["--ulimit", limit]);
	const mounts = volumes.flatMap((volume) => ["-v", volume]);
	run(["run", "-d", "--name", NAME, "--network", "none", ...limits, ...mounts, "dt-image", ...WAITS]);
	return {
		name: NAME,
		env,
		processes: () => run(["exec", NAME, "ps"]),
		[Symbol.asyncDispose]: async () => {
			run(["rm", "-f", NAME]);
			await stop();
			rmSync(directory, { recursive: true, force: true });
		},
	};
}

async function docker(directory: string) {
	const at = (name: string) => join(directory, name);
	const socket = `unix://${at("sock")}`;
	const roots = ["--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid"), "-H", socket];
	const alone = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs"];
	// A containerd that answers late is told to dump its stacks, into a file where temporary files go.
	const env = { ...process.env, TMPDIR: directory };
	const server = spawn(find("dockerd")!, [...roots, ...alone], { env, stdio: ["ignore", "ignore", "pipe"] });
	let said = "";
	server.stderr.setEncoding("utf8").on("data", (text: string) => {
		said = `${said}${text}`.slice(-20_000);
	});
	const gone = new Promise<void>((resolve) => server.on("exit", () => resolve()));
	await until("dockerd listens", () => {
		if (server.exitCode !== null) throw new Error(`dockerd did not start: ${said}`);
		return existsSync(at("sock")) && said.includes("API listen on");
	});
	return {
		env: { DOCKER_HOST: socket },
		stop: async () => {
			server.kill("SIGTERM");
			await gone;
		},
	};
}

function podman(directory: string) {
	const at = (name: string) => join(directory, name);
	writeFileSync(
		at("containers.conf"),
		'[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n',
	);
	writeFileSync(
		at("storage.conf"),
		`[storage]\ndriver = "vfs"\ngraphroot = "${at("store")}"\nrunroot = "${at("run")}"\n`,
	);
	return {
		env: { CONTAINERS_CONF: at("containers.conf"), CONTAINERS_STORAGE_CONF: at("storage.conf") },
		stop: async () => {},
	};
}
