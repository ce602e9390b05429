// HTTP for other machines: only with a named address, a certificate and a private key, and only under the names given.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { CommandLine } from "../cli/command-line.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";

const NAME = "box.test";
/** An address of this machine that is not the usual one. */
const ADDRESS = "127.0.0.2";

/** What a command says, wherever it says it. */
async function said(line: CommandLine, ...args: string[]): Promise<{ code: number | null; out: string }> {
	const { code, out, err } = await line.run(args);
	return { code, out: out + err };
}

describe("issue 14: HTTP beyond this machine", needing("openssl"), () => {
	let dir: string;
	let cert: string;
	let key: string;
	beforeAll(() => {
		dir = mkdtempSync(join(tmpdir(), "dt-tls-"));
		[cert, key] = [join(dir, "cert.pem"), join(dir, "key.pem")];
		const subject = ["-subj", `/CN=${NAME}`, "-addext", `subjectAltName=DNS:${NAME},IP:${ADDRESS}`];
		const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
		execFileSync("openssl", ["req", "-x509", ...ec, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
		chmodSync(key, 0o600);
	});
	afterAll(() => rmSync(dir, { recursive: true }));

	test("is refused without a certificate, with a key that others can read, or one that does not fit", async () => {
		await using line = new CommandLine();
		const serve = (...flags: string[]) => said(line, "serve", "--port", "0", ...flags);
		for (const flags of [
			["--host", "0.0.0.0"],
			["--host", ADDRESS, "--tls-cert", cert],
			["--tls-cert", cert, "--tls-key", key],
			["--name", NAME],
		])
			expect(await serve(...flags)).toMatchObject({
				code: 2,
				out: expect.stringContaining("needs --host, --tls-cert"),
			});
		const at = (host: string, keyFile: string) => serve("--host", host, "--tls-cert", cert, "--tls-key", keyFile);
		chmodSync(key, 0o640);
		expect((await at(ADDRESS, key)).out).toContain("is open to other users");
		chmodSync(key, 0o600);
		symlinkSync(key, join(dir, "link.pem"));
		expect((await at(ADDRESS, join(dir, "link.pem"))).out).toContain("cannot be read (ELOOP)");
		expect((await at(ADDRESS, join(dir, "none.pem"))).out).toContain("cannot be read (ENOENT)");
		expect((await at("0.0.0.0", key)).out).toContain("--name");
		expect((await at("localhost", key)).out).toContain("is not an address");
		chmodSync(cert, 0o600);
		expect((await serve("--host", ADDRESS, "--tls-cert", key, "--tls-key", key)).out).toContain("cannot be used");
		expect((await said(line, "daemon", "status")).out).toContain("HTTP: off");
	});

	test("is served over TLS, for its names and origin alone, with a cookie that needs TLS; a killed daemon's is opened again", async () => {
		await using line = new CommandLine();
		const flags = ["--host", ADDRESS, "--tls-cert", cert, "--tls-key", key, "--name", NAME];
		const served = await said(line, "serve", "--port", "0", ...flags);
		const url = new RegExp(`https://${NAME}:\\d+`).exec(served.out)?.[0] ?? served.out;
		const port = Number(new URL(url).port);
		const ask = (path: string, headers: Record<string, string> = {}) =>
			new Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }>((answered, failed) => {
				const options = { host: ADDRESS, port, path, servername: NAME, ca: readFileSync(cert) };
				request({ ...options, headers: { host: `${NAME}:${port}`, ...headers } }, (response) => {
					response.resume();
					answered({ status: response.statusCode ?? 0, headers: response.headers });
				})
					.on("error", failed)
					.end();
			});
		const token = (await said(line, "token", "create", "x")).out.trim();
		const bearer = { authorization: `Bearer ${token}` };
		expect((await ask("/v1/sessions", bearer)).status).toBe(200);
		expect((await ask("/v1/sessions")).status).toBe(401);
		for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, NAME, `evil.test:${port}`])
			expect([host, (await ask("/v1/sessions", { ...bearer, host })).status]).toEqual([host, 403]);
		expect((await ask("/v1/sessions", { ...bearer, host: `${ADDRESS}:${port}` })).status).toBe(200);
		expect((await ask("/v1/sessions", { ...bearer, origin: `http://${NAME}:${port}` })).status).toBe(403);
		expect((await ask("/v1/sessions", { ...bearer, origin: url })).status).toBe(200);
		// Neither plain HTTP, nor on loopback.
		await expect(fetch(`http://${ADDRESS}:${port}/healthz`)).rejects.toThrow();
		await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();

		const link = /\S+\/login\?code=\S+/.exec(served.out)![0];
		const loggedIn = await ask(link.slice(url.length));
		const [cookie] = loggedIn.headers["set-cookie"] as string[];
		expect(cookie).toMatch(/^__Host-dialtone-\d+=dt_\S+; Secure; HttpOnly; SameSite=Strict; Path=\/;/);
		const own = { cookie: cookie!.split(";")[0]!, origin: url };
		expect((await ask("/v1/me", own)).status).toBe(200);

		const open = (headers: Record<string, string>) => {
			const options = { headers: { host: `${NAME}:${port}`, ...headers }, ca: readFileSync(cert), servername: NAME };
			const socket = new WebSocket(`wss://${ADDRESS}:${port}/v1/events`, options);
			return new Promise<string>((done) => {
				socket.on("open", () => done("open"));
				socket.on("error", ({ message }) => done(message));
			}).finally(() => socket.terminate());
		};
		expect(await open(own)).toBe("open");
		expect(await open({ ...own, origin: "https://evil.test" })).toContain("403");

		const { pid } = JSON.parse((await said(line, "daemon", "status", "--json")).out) as { pid: number };
		process.kill(pid, "SIGKILL");
		await until("the next daemon serves at the same place", async () => {
			await said(line, "list");
			return (await ask("/v1/me", own).catch(() => null))?.status === 200;
		});
	});
});
