// R4.9: a sandbox that the policy of a machine forces holds for what another machine of the fleet starts there.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../condition.ts";
import { COMMAND_INPUTS } from "../contract/command-inputs.ts";
import { missing } from "../programs.ts";
import { BROKER_NEEDS } from "./broker.ts";
import { aimed } from "./fleet-surfaces.ts";
import { called, TwoHosts } from "./two-hosts.ts";

describe.skipIf(missing(...BROKER_NEEDS, "bwrap").length > 0)("R4.9 under a policy of the other machine", () => {
	let directory: string;
	beforeAll(async () => {
		directory = mkdtempSync(join(tmpdir(), "dt-confined-"));
	});
	afterAll(() => rmSync(directory, { recursive: true }));

	/** Tries to write outside first: what is written in the workspace tells that it has been tried. */
	const escaping = (workspace: string, name: string) => `touch ${directory}/${name}; touch ${workspace}/${name}`;

	const callOf =
		({ client }: TwoHosts) =>
		(tool: string, input: object) =>
			called(client, tool, aimed(tool, input) as object);

	test.each([
		["all", {}],
		["whoever comes over the fleet", { token: "fleet:*" }],
	])("that confines %s, nothing writes outside, and no call widens it", async (_, who) => {
		const workspace = mkdtempSync(join(directory, "workspace-"));
		await using hosts = await TwoHosts.start({ policy: { confine: [{ ...who, sandbox: { workspace } }] } });
		const call = callOf(hosts);
		for (const [tool, inputOf] of Object.entries(COMMAND_INPUTS)) {
			const given = await call(tool, inputOf(escaping(workspace, tool)));
			expect(JSON.stringify(given.facts), tool).toMatch(/sandbox\W+enforced/i);
			await until(`${tool} has run`, () => existsSync(join(workspace, tool)));
			expect(existsSync(join(directory, tool)), `${tool} wrote outside of its sandbox`).toBe(false);
		}
		for (const more of [{ sandbox: false }, { sandbox: { rw: [directory] } }, { cwd: directory }]) {
			const wider = call("start", { command: escaping(workspace, "wider"), ...more });
			expect(await wider.catch((error) => error), JSON.stringify(more)).toMatchObject({ code: "sandbox_exceeded" });
		}
		expect(existsSync(join(workspace, "wider"))).toBe(false);
	});

	test("that is invalid, nothing is started", async () => {
		await using hosts = await TwoHosts.start({ policy: { confine: "everybody" } });
		const refused = await callOf(hosts)("start", { command: "true" }).catch((error: unknown) => error);
		expect(refused).toMatchObject({ code: "policy_invalid" });
	});
});
