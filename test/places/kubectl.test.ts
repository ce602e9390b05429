// `in: kubectl:…`, with a fake kubectl: no cluster can be had here.

import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";

const patient = { timeoutMs: 60_000 } as const;

describe("a program in a pod, of a fake kubectl", () => {
	const bin = mkdtempSync(join(tmpdir(), "dt-kubectl-"));
	const path = process.env.PATH;
	let dialtone: Dialtone;
	beforeAll(async () => {
		symlinkSync(join(import.meta.dirname, "../fixtures/fake-kubectl"), join(bin, "kubectl"));
		process.env.PATH = `${bin}:${path}`;
		dialtone = await Dialtone.open({ owner: "place" });
	});
	afterAll(async () => {
		await dialtone[Symbol.asyncDispose]();
		process.env.PATH = path;
		rmSync(bin, { recursive: true });
	});

	test("is found by namespace and container, and gets its directory, variables and arguments", async () => {
		const argv = ["sh", "-c", 'printf "%s|" "$PWD" "$A" "$@"; echo', "sh", "it's", "$x", "--"];
		const place = "kubectl:ns/pod-0:app";
		const { facts } = await dialtone.start({ in: place, argv, cwd: "/usr/lib", env: { A: "1 2" }, ...patient });
		expect(facts.text).toContain("<-n><ns><pod-0><-c><app>");
		expect(facts.text).toContain("/usr/lib|1 2|it's|$x|--|");
		expect(facts).toMatchObject({ status: "succeeded", in: place });
	});

	test("is told in kubectl's words where there is no such pod", async () => {
		const { facts } = await dialtone.start({ in: "kubectl:gone", ...patient });
		expect(facts).toMatchObject({ status: "failed", exit: { code: 1 }, text: expect.stringContaining("NotFound") });
	});
});
