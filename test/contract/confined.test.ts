// R4.9: a sandbox that the policy forces. Whatever starts a program, by whatever way in, starts it there.

import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { catalogue } from "../../src/tools/catalogue.ts";
import { STARTING_TOOLS, TOOL_SETS } from "../../src/tools/client.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { COMMAND_INPUTS as INPUTS } from "./command-inputs.ts";
import { home, SURFACES, type Surface, served, WITHOUT_DIALECTS } from "./surfaces.ts";

let workspace: string;
let outside: string;
beforeAll(() => {
	workspace = mkdtempSync(join(tmpdir(), "dt-workspace-"));
	outside = mkdtempSync(join(tmpdir(), "dt-outside-"));
});
afterAll(() => {
	for (const directory of [workspace, outside]) rmSync(directory, { recursive: true });
});
afterEach(() => {
	for (const directory of [workspace, outside])
		for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true });
});

/** Tries to write outside first: what is written in the workspace tells that it has been tried. */
const escaping = (name: string) => `touch ${outside}/${name}; touch ${workspace}/${name}`;

async function expectConfined(name: string): Promise<void> {
	await until(`${name} has run`, () => existsSync(join(workspace, name)));
	expect(existsSync(join(outside, name)), `${name} wrote outside of its sandbox`).toBe(false);
}

test("R4.9 every tool that may start a program is tried here", () => {
	const starting = TOOL_SETS.flatMap((set) =>
		catalogue[set].filter(({ name, effect }) => effect === "starts" || STARTING_TOOLS.has(name)),
	);
	expect(Object.keys(INPUTS).sort()).toEqual([...new Set(starting.map(({ name }) => name))].sort());
});

test("R4.9 without a policy the same command does write outside", async () => {
	const surface = await SURFACES["the daemon's socket"]!();
	await surface.call("start", { command: escaping("free") });
	await until("it has run", () => existsSync(join(workspace, "free")));
	await surface.close();
	expect(existsSync(join(outside, "free"))).toBe(true);
});

describe.each(Object.keys(SURFACES))(
	"R4.9 under a policy that confines all, over %s",
	{ ...needing("bwrap") },
	(way) => {
		let surface: Surface;
		beforeEach(async () => {
			surface = await SURFACES[way]!({ confine: [{ sandbox: { workspace } }] });
		});
		afterEach(() => surface.close());

		const tools = Object.keys(INPUTS).filter((name) => !WITHOUT_DIALECTS.has(way) || ["start", "run"].includes(name));
		test(`nothing that ${tools.join(", ")} start writes outside, and each says that it is confined`, async () => {
			for (const tool of tools) {
				const given = await surface.call(tool, INPUTS[tool]!(escaping(tool)));
				expect(JSON.stringify(given), tool).toMatch(/sandbox\W+enforced/i);
				await expectConfined(tool);
			}
		});

		test("a call cannot widen it, nor start again what it ran without it", async () => {
			const wider = [
				{ sandbox: false },
				{ sandbox: { rw: [outside] } },
				{ sandbox: { ro: [outside] } },
				{ sandbox: { workspace: outside } },
				{ sandbox: { network: "host" } },
				{ cwd: outside },
			];
			for (const more of wider) {
				const refused = await surface.call("start", { command: escaping("wider"), ...more }).catch((error) => error);
				expect(refused, JSON.stringify(more)).toMatchObject({ code: "sandbox_exceeded" });
			}
			expect(existsSync(join(workspace, "wider"))).toBe(false);
			await surface.call("start", { command: escaping("once"), name: "once" });
			await expectConfined("once");
			rmSync(join(workspace, "once"));
			await surface.call("start", { again: "once" });
			await expectConfined("once");
		});
	},
);

test(
	"R4.9 R4.14 over HTTP: by token, for a conversation, and started again by a person",
	needing("bwrap"),
	async () => {
		const sandbox = { workspace };
		const at = home({
			confine: [
				{ parent: "conversation-1", sandbox },
				{ token: "confined", sandbox },
			],
		});
		const { url, token, close } = await served(at);
		const { Tokens } = await import("../../src/http/tokens.ts");
		const tokens = new Tokens(join(at.path, "tokens.json"));
		const confined = tokens.create({ name: "confined", role: "drive" }).token;
		const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
			const answer = await fetch(url + path, {
				method: "POST",
				headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
				body: JSON.stringify(body),
			});
			return (await answer.json()) as Record<string, unknown>;
		};
		await post("/v1/tools/pty_create", { cmd: escaping("parent") }, { "x-dialtone-parent": "conversation-1" });
		await expectConfined("parent");
		await post("/v1/tools/start", { command: escaping("named"), parent: "conversation-1" });
		await expectConfined("named");
		// Naming another conversation is no way around one's own.
		const moved = { command: escaping("moved"), parent: "conversation-2" };
		await post("/v1/tools/start", moved, { "x-dialtone-parent": "conversation-1" });
		await expectConfined("moved");
		const authorization = `Bearer ${confined}`;
		const started = await post("/v1/tools/start", { command: escaping("token"), name: "again" }, { authorization });
		expect(started.sandbox).toBe("enforced");
		await expectConfined("token");
		// By a person, for whom no row is.
		rmSync(join(workspace, "token"));
		const person = `Bearer ${tokens.create({ name: "person", role: "admin" }).token}`;
		await post(`/v1/sessions/${started.session}/restart`, {}, { authorization: person });
		await expectConfined("token");
		// What is not confined cannot be typed into by what is.
		const open = await post("/v1/tools/start", { argv: ["cat"], name: "open" });
		expect(open.sandbox).toBe("none");
		const typed = await post("/v1/tools/send", { session: open.session, text: "x" }, { authorization });
		expect(typed).toMatchObject({ fault: "sandbox_exceeded" });
		await close();
	},
);

test("R4.9 while policy.json is invalid, nothing is started or typed", async () => {
	const surface = await SURFACES["the daemon's socket"]!({ confine: "everybody" });
	const refused = await surface.call("start", { command: escaping("invalid") }).catch((error) => error);
	expect(refused).toMatchObject({ code: "policy_invalid" });
	expect(await surface.call("list", {})).toMatchObject({ facts: { sessions: [] } });
	await surface.close();
});

test("R4.9 fails closed where the workspace is not there, or the profile", needing("bwrap"), async () => {
	const surface = await SURFACES["the daemon's socket"]!({
		confine: [{ owner: "test", sandbox: { workspace: join(workspace, "missing") } }],
	});
	const refused = await surface.call("run", { command: escaping("missing") }).catch((error) => error);
	expect(refused).toMatchObject({ code: "sandbox_unavailable" });
	const unknown = await surface.call("start", { command: "true", sandbox: "nosuch" }).catch((error) => error);
	expect(unknown).toMatchObject({ code: "sandbox_unavailable" });
	await surface.close();
	expect(existsSync(join(outside, "missing"))).toBe(false);
});

describe("R4.9 a confined shell", () => {
	let surface: Surface;
	beforeEach(async () => {
		surface = await SURFACES["the daemon's socket"]!({ confine: [{ sandbox: { workspace } }] });
	});
	afterEach(() => surface.close());
	const run = (command: string, more: object = {}) =>
		surface.call("run", { command, shell: "main", program: "bash", clean: true, ...more });

	test("keeps stdout and stderr apart", needing("bwrap"), async () => {
		for (const _ of [1, 2]) {
			const answer = await run("echo out; echo err >&2", { separate: true });
			expect(answer).toMatchObject({ facts: { sandbox: "enforced", exitCode: 0, stdout: "out\n", stderr: "err\n" } });
		}
	});

	test("cannot have us write through links where commands are handed over", needing("bwrap"), async () => {
		const links = [
			'p=${_dt_r%x*}; for n in {,1,2,3}{{0..9},{a..z}}; do test "$p"x$n = "$_dt_r" ||',
			`ln -s ${outside}/command "$_dt_dir/$p"x$n; done;`,
			`for n in deadline.json shell.json shell.json.tmp; do ln -sf ${outside}/$n "$_dt_dir/$n"; done`,
		];
		await run(links.join(" "));
		const answer = await run("echo on");
		expect(answer).toMatchObject({ facts: { exitCode: 0, text: "on\n" } });
		expect(readdirSync(outside)).toEqual([]);
	});

	test.each([
		["a link", "ln -s FILE $_dt_dir/spare/out1"],
		["a pipe that nobody writes", "mkfifo $_dt_dir/spare/out1"],
		["in a linked directory", "mv $_dt_dir/spare $_dt_dir/own; ln -s DIRECTORY $_dt_dir/spare"],
	])("cannot have us read what is outside as its stdout: %s", needing("bwrap"), async (_, plant) => {
		writeFileSync(join(outside, "out1"), "not for it\n");
		const left = plant.replace("FILE", `${outside}/out1`).replace("DIRECTORY", outside);
		const pipes =
			'mkdir $_dt_dir/spare; for n in 1 2; do mkfifo $_dt_dir/spare/$n; sleep 60 <>"$_dt_dir/spare/$n" & done';
		await run(`${pipes}; ${left}`);
		const answer = await run("true", { separate: true });
		expect(answer).toMatchObject({ facts: { exitCode: 0, stdout: "" } });
		expect(readdirSync(outside)).toEqual(["out1"]);
	});
});
