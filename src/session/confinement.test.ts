import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxRecord, SessionRecord } from "../journal/records.ts";
import { confined, mustBeConfined } from "./confinement.ts";
import type { PolicyFile, SandboxChoice } from "./policy.ts";
import type { Caller } from "./start-spec.ts";

let root: string;
let work: string;
let other: string;
beforeAll(() => {
	root = realpathSync(mkdtempSync(join(tmpdir(), "dt-confinement-")));
	[work, other] = [join(root, "work"), join(root, "other")];
	for (const path of [work, other, join(work, "sub")]) mkdirSync(path);
	symlinkSync(other, join(work, "link"));
});
afterAll(() => rmSync(root, { recursive: true }));

const policy = (more: Partial<PolicyFile> = {}): PolicyFile => ({
	sandboxes: {},
	confine: [],
	inside: "own",
	elsewhere: "refuse",
	rules: [],
	secrets: {},
	...more,
});
const caller = (more: Partial<Caller> = {}): Caller => ({ owner: "mcp:x", cwd: work, env: {}, ...more });
const sandbox = (more: Partial<SandboxRecord> = {}): SandboxRecord => ({
	workspace: work,
	ro: [],
	rw: [],
	network: "none",
	...more,
});
const inside = (by: SandboxRecord) => ({ id: "s", owner: "mcp:x", parent: null, within: [], sandbox: by });

describe("R4.9 the sandbox of a session", () => {
	test("is none where nobody asks for one", async () => {
		expect((await confined({ caller: caller() }, policy())).confinedBy).toBeNull();
		expect((await confined({ caller: caller(), sandbox: false }, policy())).confinedBy).toBeNull();
	});

	test("by default is the working directory and no network, or the profile of that name", async () => {
		const start = { caller: caller(), cwd: "sub", sandbox: true } as const;
		expect((await confined(start, policy())).confinedBy).toEqual(sandbox({ workspace: join(work, "sub") }));
		const named = policy({ sandboxes: { default: { network: "host" } } });
		expect((await confined(start, named)).confinedBy?.network).toBe("host");
	});

	test("is the forced one, with its environment, whatever directory the caller is in", async () => {
		const rule = policy({ confine: [{ owner: "mcp:*", sandbox: { workspace: work, env: { A: "1" } } }] });
		const start = { caller: caller({ cwd: other }), env: { A: "2", B: "3" } };
		expect(await confined(start, rule)).toMatchObject({ confinedBy: sandbox(), cwd: work, env: { A: "1", B: "3" } });
		expect((await confined({ caller: caller({ owner: "cli" }) }, rule)).confinedBy).toBeNull();
	});

	test("of a caller inside one is that one, also where the policy is wider", async () => {
		const from = caller({ inside: inside(sandbox()), cwd: other });
		expect((await confined({ caller: from }, policy())).confinedBy).toEqual(sandbox());
		const wider = policy({ confine: [{ sandbox: { workspace: other, rw: [work], network: "host" } }] });
		expect((await confined({ caller: from }, wider)).confinedBy).toEqual(sandbox());
		const asks: SandboxChoice[] = [false, { network: "host" }, { rw: [other] }];
		for (const asked of asks)
			await expect(confined({ caller: from, sandbox: asked }, policy())).rejects.toMatchObject({
				code: "sandbox_exceeded",
			});
	});

	test("may be asked to be narrower, by the paths that are named alone", async () => {
		const network = { allow: ["a.example", "b.example"] };
		const rule = policy({ confine: [{ sandbox: { workspace: work, rw: [other], network } }] });
		const asked = { workspace: other, network: { allow: ["a.example"] } };
		expect((await confined({ caller: caller(), sandbox: asked }, rule)).confinedBy).toEqual(
			sandbox({ workspace: other, network: asked.network }),
		);
		// What is below them could become a link before it is mounted.
		const below = { caller: caller(), sandbox: { workspace: join(work, "sub") } };
		await expect(confined(below, rule)).rejects.toMatchObject({ code: "sandbox_exceeded" });
		const more = { caller: caller(), sandbox: { network: { allow: ["c.example"] } } };
		await expect(confined(more, rule)).rejects.toMatchObject({ code: "sandbox_exceeded" });
	});

	test("keeps read-only what the forced one does within its workspace", async () => {
		const rule = policy({ confine: [{ sandbox: { workspace: work, ro: [join(work, "sub")] } }] });
		const forced = sandbox({ ro: [join(work, "sub")] });
		for (const asked of [{}, { workspace: work }, { network: "none" }] satisfies SandboxChoice[])
			await expect(confined({ caller: caller(), sandbox: asked }, rule)).rejects.toMatchObject({
				code: "sandbox_exceeded",
			});
		const asked = { caller: caller(), sandbox: { ro: ["sub"] } };
		expect((await confined(asked, rule)).confinedBy).toEqual(forced);
		// Nor by a session that was started before.
		const session = { name: "wide", sandbox: sandbox() } as SessionRecord;
		expect(() => mustBeConfined(session, forced)).toThrow("may not be written");
	});

	test("does not follow a link out of its workspace", async () => {
		const rule = policy({ confine: [{ sandbox: { workspace: work } }] });
		await expect(confined({ caller: caller(), cwd: "link" }, rule)).rejects.toMatchObject({ code: "sandbox_exceeded" });
		const asked = { caller: caller(), sandbox: { workspace: "link" } };
		await expect(confined(asked, rule)).rejects.toMatchObject({ code: "sandbox_exceeded" });
	});

	test("cannot be made of two of which neither is within the other, of a missing path, or of a relative one", async () => {
		const from = caller({ inside: inside(sandbox()) });
		for (const forced of [{ workspace: other }, { workspace: join(root, "gone") }, { workspace: "work" }])
			await expect(confined({ caller: from }, policy({ confine: [{ sandbox: forced }] }))).rejects.toMatchObject({
				code: "sandbox_unavailable",
			});
	});

	test("is kept by what is started again, and not taken over from another owner's", async () => {
		const again = { caller: caller({ cwd: other }), sandboxBefore: sandbox() };
		expect((await confined(again, policy())).confinedBy).toEqual(sandbox());
		await expect(confined(again, policy({ confine: [{ sandbox: {} }] }))).rejects.toMatchObject({
			code: "sandbox_unavailable",
		});
	});
});
