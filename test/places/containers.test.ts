// `in: docker:…` and `in: podman:…`: a program in a real container, as callers meet it.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { needing } from "../programs.ts";
import { CONTAINER_NEEDS, type Container, type ContainerTool, startContainer } from "../servers/containers.ts";

const patient = { timeoutMs: 60_000 } as const;

describe.each<ContainerTool>(["docker", "podman"])("a program in a container of %s", (tool) => {
	describe("is", needing(...CONTAINER_NEEDS[tool], "bwrap"), () => {
		let container: Container;
		let place: string;
		const opened: Dialtone[] = [];
		beforeAll(async () => {
			container = await startContainer(tool);
			Object.assign(process.env, container.env);
			place = `${tool}:${container.name}`;
		}, 120_000);
		afterAll(async () => {
			for (const name of Object.keys(container.env)) delete process.env[name];
			await container[Symbol.asyncDispose]();
		});
		const open = async (home?: string) => {
			const dialtone = await Dialtone.open({ owner: "place", ...(home !== undefined && { home }) });
			opened.push(dialtone);
			return dialtone;
		};
		afterEach(async () => {
			for (const dialtone of opened.splice(0)) await dialtone[Symbol.asyncDispose]();
		});

		test("given its arguments, directory and variables as they are", async () => {
			const dialtone = await open();
			const argv = ["sh", "-c", 'printf "%s|" "$(pwd)" "$A" "$@"; echo', "sh", "it's", "a\\ b", "$HOME !x", "-w"];
			const { facts } = await dialtone.start({ in: place, argv, cwd: "/srv/a b", env: { A: "1 '2'" }, ...patient });
			expect(facts.text).toContain("/srv/a b|1 '2'|it's|a\\ b|$HOME !x|-w|");
			expect(facts).toMatchObject({ status: "succeeded", in: place, cwd: "/srv/a b" });
			const { facts: line } = await dialtone.start({ in: place, command: "cd /srv; pwd | cat; exit 7", ...patient });
			expect(line).toMatchObject({ text: expect.stringContaining("/srv"), exit: { code: 7 } });
		});

		test("a shell without a command, which gets every key and whose turn is told as likely", async () => {
			const dialtone = await open();
			const shell = await dialtone.start({ in: place, ...patient });
			expect(shell.facts).toMatchObject({ name: tool, activity: "waiting", waitingFor: "line", certainty: "likely" });
			expect((await shell.send({ text: "echo $((6*7))", submit: true, ...patient })).text).toContain("42");
			// Ctrl+P would be the first key of detaching: it is the line before.
			const { text } = await shell.send({ keys: ["ctrl+p", "enter"], ...patient });
			expect(text).toContain("42");
			expect(await shell.send({ text: "exit 3", submit: true, ...patient })).toMatchObject({ exit: { code: 3 } });
		});

		test("ended with its session by podman, whose processes are ours; docker leaves it running (docs/places.md)", async () => {
			const dialtone = await open();
			const shell = await dialtone.start({ in: place, command: "sleep 31; exit", timeoutMs: 5000 });
			expect((await shell.close()).status).toBe("cancelled");
			expect(container.processes().includes("sleep 31")).toBe(tool === "docker");
		});

		test("told in the tool's own words where there is none", async () => {
			const dialtone = await open();
			const { facts } = await dialtone.start({ in: `${tool}:dt-none`, command: "true", ...patient });
			expect(facts).toMatchObject({ status: "failed", text: expect.stringMatching(/no such container/i) });
		});

		test("not reached from within a sandbox, also where the policy forces it", async () => {
			const home = mkdtempSync(join(tmpdir(), "dt-places-"));
			const workspace = mkdtempSync(join(tmpdir(), "dt-places-ws-"));
			const confine = [{ sandbox: { workspace, network: "host" } }];
			writeFileSync(join(home, "policy.json"), JSON.stringify({ confine }), { mode: 0o600 });
			const dialtone = await open(home);
			const { facts } = await dialtone.start({ in: place, command: "touch /tmp/made", ...patient });
			expect(facts).toMatchObject({ status: "failed", sandbox: "enforced", in: place });
			await expect(dialtone.start({ in: place, command: "true", sandbox: false })).rejects.toMatchObject({
				code: "sandbox_exceeded",
			});
			for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
			const free = await open();
			const { facts: seen } = await free.start({ in: place, command: "cat /tmp/made", ...patient });
			expect(seen.exit?.code).toBe(1);
			expect(existsSync("/tmp/made")).toBe(false);
			for (const path of [home, workspace]) rmSync(path, { recursive: true });
		});
	});
});
