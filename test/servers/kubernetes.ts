// What a real kubectl needs of a cluster: an API server with pods to execute programs in. Both are stand-ins, on loopback
// and without TLS: the server knows the paths that `kubectl exec` and `get pod` ask for, and a "pod" is a directory and an
// environment of this machine, in which each exec gets a process on a terminal of its own (test/fixtures/pod.py).
//
// It speaks both protocols of `exec`: SPDY (kubectl up to 1.30) and WebSockets (since 1.31). What it says of a program that
// cannot be started is what containerd says.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type SpdyStream, serveSpdy } from "./spdy.ts";

export const KUBECTL_NEEDS: readonly string[] = ["kubectl", "python3"];

export interface Kubernetes extends AsyncDisposable {
	/** What leads kubectl to it. Its contexts are `here`, the current one, and `nowhere`. */
	readonly env: Readonly<Record<string, string>>;
	/** The image's directory. */
	readonly directory: string;
	/** Of each exec that was asked for: which protocol. */
	readonly protocols: readonly string[];
	/** Ends all connections: in order (`end`), or as a machine that is gone does (`reset`). */
	lose(how: "end" | "reset"): void;
}

/** `NAMESPACE/POD` → its containers, the first of which is the one that is meant. */
const PODS: Readonly<Record<string, readonly string[]>> = { "default/pod-0": ["app"], "ns/pod.1": ["app", "side"] };

/** What a kubectl and the program of one exec say to each other. */
interface Streams {
	readonly onStdin: (listener: (bytes: Buffer) => void) => void;
	readonly onResize: (listener: (bytes: Buffer) => void) => void;
	readonly stdout: (bytes: Buffer) => void;
	/** The last that is said: how it ended. */
	readonly end: (status: object) => void;
}

/** `delayMs`: what is typed takes this long to its program. */
export async function startKubernetes({ delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<Kubernetes> {
	const base = mkdtempSync(join(tmpdir(), "dt-kube-"));
	const directory = join(base, "image");
	for (const path of [directory, join(base, "home")]) mkdirSync(path);
	const sockets = new Set<Socket>();
	const programs = new Set<ChildProcess>();
	const protocols: string[] = [];

	const server = createServer((request, response) => {
		const { code, body } = answer(new URL(request.url ?? "/", "http://pod").pathname);
		response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
	});
	server.on("connection", (socket: Socket) => {
		sockets.add(socket);
		socket.on("error", () => {}); // a connection that is lost closes as well
		socket.on("close", () => sockets.delete(socket));
	});
	const webSockets = new WebSocketServer({ noServer: true, handleProtocols: () => "v5.channel.k8s.io" });
	server.on("upgrade", (request, socket, head) => {
		const url = new URL(request.url ?? "/", "http://pod");
		const found = execOf(url);
		if (typeof found === "string") return refuse(socket as Socket, found);
		const start = (streams: Streams) => {
			const program = inPod(found, delayMs === 0 ? streams : delayed(streams, delayMs), directory);
			programs.add(program);
			program.on("exit", () => programs.delete(program));
		};
		const protocol = request.headers.upgrade ?? "";
		protocols.push(protocol);
		if (protocol === "websocket")
			webSockets.handleUpgrade(request, socket, head, (webSocket) => start(ofWebSocket(webSocket)));
		else ofSpdy(request, socket as Socket, head, start);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	writeFileSync(join(base, "config"), JSON.stringify(kubeconfig(port)));
	const lose = (how: "end" | "reset") => {
		for (const socket of sockets) how === "end" ? socket.end() : socket.resetAndDestroy();
	};
	return {
		env: { KUBECONFIG: join(base, "config"), HOME: join(base, "home") },
		directory,
		protocols,
		lose,
		[Symbol.asyncDispose]: async () => {
			lose("reset");
			await new Promise((resolve) => server.close(resolve));
			const gone = [...programs].map((program) => new Promise((resolve) => program.on("exit", resolve)));
			for (const program of programs) program.kill("SIGKILL");
			await Promise.all(gone);
			rmSync(base, { recursive: true, force: true });
		},
	};
}

function kubeconfig(port: number): object {
	const context = (name: string) => ({ name, context: { cluster: name, user: "me" } });
	return {
		apiVersion: "v1",
		kind: "Config",
		"current-context": "here",
		contexts: [context("here"), context("nowhere")],
		users: [{ name: "me", user: {} }],
		clusters: [
			{ name: "here", cluster: { server: `http://127.0.0.1:${port}` } },
			{ name: "nowhere", cluster: { server: "http://127.0.0.1:1" } },
		],
	};
}

const PATHS: Readonly<Record<string, object>> = {
	"/version": { major: "1", minor: "33", gitVersion: "v1.33.0" },
	"/api": { kind: "APIVersions", versions: ["v1"] },
	"/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
	"/api/v1": {
		kind: "APIResourceList",
		groupVersion: "v1",
		resources: [
			{ name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get", "list"], shortNames: ["po"] },
			{ name: "pods/exec", singularName: "", namespaced: true, kind: "PodExecOptions", verbs: ["create", "get"] },
		],
	},
};

function answer(path: string): { readonly code: number; readonly body: object } {
	if (Object.hasOwn(PATHS, path)) return { code: 200, body: PATHS[path]! };
	const [, namespace = "", pod = ""] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)$/.exec(path) ?? [];
	const containers = PODS[`${namespace}/${pod}`];
	if (containers === undefined)
		return { code: 404, body: failure(404, "NotFound", pod ? `pods "${pod}" not found` : "not found") };
	const spec = { nodeName: "node", containers: containers.map((name) => ({ name, image: "image" })) };
	const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
	return { code: 200, body: { kind: "Pod", apiVersion: "v1", metadata: { name: pod, namespace }, spec, status } };
}

const failure = (code: number, reason: string, message: string) =>
	({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code }) as const;

interface Exec {
	/** NAMESPACE/POD:CONTAINER, for the program's environment. */
	readonly where: string;
	readonly argv: readonly string[];
}

/** Why not, where it is refused. */
function execOf({ pathname, searchParams }: URL): Exec | string {
	const [, namespace = "", pod = ""] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec$/.exec(pathname) ?? [];
	const containers = PODS[`${namespace}/${pod}`] ?? [];
	const container = searchParams.get("container") ?? containers[0] ?? "";
	if (!containers.includes(container)) return `container ${container} is not valid for pod ${pod}`;
	if (!["stdin", "stdout", "tty"].every((name) => searchParams.get(name) === "true")) return "not on a terminal";
	return { where: `${namespace}/${pod}:${container}`, argv: searchParams.getAll("command") };
}

function refuse(socket: Socket, why: string): void {
	const body = JSON.stringify(failure(400, "BadRequest", why));
	const headers = ["Content-Type: application/json", `Content-Length: ${body.length}`];
	socket.end(`HTTP/1.1 400 Bad Request\r\n${headers.join("\r\n")}\r\n\r\n${body}`);
}

/** Starts it; its end is the last that is said. */
function inPod({ where, argv }: Exec, { onStdin, onResize, stdout, end }: Streams, directory: string): ChildProcess {
	const runner = spawn("python3", [join(import.meta.dirname, "../fixtures/pod.py"), ...argv], {
		cwd: directory,
		env: { PATH: "/usr/bin:/bin", HOME: directory, TERM: "xterm", WHERE: where },
		stdio: ["pipe", "pipe", "inherit", "pipe", "pipe"],
	});
	const [stdin, sizes] = [runner.stdin as Writable, runner.stdio[3] as Writable];
	for (const stream of [stdin, sizes]) stream.on("error", () => {}); // it has ended: its exit says so
	onStdin((bytes) => stdin.write(bytes));
	onResize((bytes) => {
		const { Width, Height } = JSON.parse(bytes.toString()) as { Width: number; Height: number };
		sizes.write(`${Height} ${Width}\n`);
	});
	runner.stdout?.on("data", stdout);
	let told = "";
	(runner.stdio[4] as Readable).on("data", (bytes: Buffer) => {
		told += bytes.toString();
	});
	runner.on("close", () => end(statusOf(told, argv[0] ?? "")));
	return runner;
}

const delayed = (streams: Streams, delayMs: number): Streams => ({
	...streams,
	onStdin: (listener) => streams.onStdin((bytes) => void setTimeout(listener, delayMs, bytes)),
});

/** The status that is sent for an exec: by this kubectl learns the exit code. */
function statusOf(told: string, program: string): object {
	const unknown = `exec: "${program}": executable file not found in $PATH: unknown`;
	if (told === "not found")
		return failure(500, "InternalError", `Internal error occurred: OCI runtime exec failed: exec failed: ${unknown}`);
	if (told === "0") return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };
	const message = `command terminated with non-zero exit code: exit code ${told}`;
	return {
		...failure(500, "NonZeroExitCode", message),
		details: { causes: [{ reason: "ExitCode", message: told }] },
	};
}

/** Five kinds of streams, each opened by kubectl under its name; on a terminal there is no `stderr`. */
function ofSpdy(request: IncomingMessage, socket: Socket, head: Buffer, start: (streams: Streams) => void): void {
	const version = "v4.channel.k8s.io";
	if (!request.headers["x-stream-protocol-version"]?.includes(version)) return void socket.destroy();
	const headers = [`Upgrade: SPDY/3.1`, "Connection: Upgrade", `X-Stream-Protocol-Version: ${version}`];
	socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join("\r\n")}\r\n\r\n`);
	const opened = new Map<string, SpdyStream>();
	const stream = (name: string) => opened.get(name)!;
	const streams: Streams = {
		onStdin: (listener) => Object.assign(stream("stdin"), { onData: listener }),
		onResize: (listener) => Object.assign(stream("resize"), { onData: listener }),
		stdout: (bytes) => stream("stdout").write(bytes),
		end: (status) => {
			stream("error").write(Buffer.from(JSON.stringify(status)));
			for (const one of opened.values()) one.end();
			socket.end();
		},
	};
	void serveSpdy(socket, head, (one) => {
		opened.set(one.headers.get("streamtype") ?? "", one);
		if (["error", "stdin", "stdout", "resize"].every((name) => opened.has(name)) && opened.size === 4) start(streams);
	});
}

/** One connection, whose messages begin with the number of their stream. */
function ofWebSocket(webSocket: WebSocket): Streams {
	const listeners = new Map<number, (bytes: Buffer) => void>();
	webSocket.on("error", () => {}); // a connection that is lost closes as well
	webSocket.on("message", (data: Buffer) => listeners.get(data[0] ?? 255)?.(data.subarray(1)));
	const send = (stream: number, bytes: Buffer) => webSocket.send(Buffer.concat([Buffer.from([stream]), bytes]));
	return {
		onStdin: (listener) => listeners.set(0, listener),
		onResize: (listener) => listeners.set(4, listener),
		stdout: (bytes) => send(1, bytes),
		end: (status) => {
			if (webSocket.readyState !== webSocket.OPEN) return;
			send(3, Buffer.from(JSON.stringify(status)));
			webSocket.close(1000);
		},
	};
}
