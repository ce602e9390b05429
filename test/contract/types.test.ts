// What the compiler knows of a call: `tsc` fails where this file and the catalogue disagree.

import { expect, expectTypeOf, test } from "vitest";
import type { ListFacts, ReadFacts, RunFacts, SessionFacts } from "../../src/protocol/answer.ts";
import { clean, oneLine, safe } from "../../src/protocol/clean.ts";
import type { FactsOf, InputOf } from "../../src/tools/catalogue.ts";
import type { Answer, Client } from "../../src/tools/client.ts";
import { FakeClient } from "../fake-client.ts";

test("a tool's name decides what its input and its facts are", () => {
	expectTypeOf<FactsOf<"send">>().toEqualTypeOf<SessionFacts>();
	expectTypeOf<FactsOf<"read">>().toEqualTypeOf<ReadFacts>();
	expectTypeOf<FactsOf<"run">>().toEqualTypeOf<RunFacts>();
	expectTypeOf<FactsOf<"list">>().toEqualTypeOf<ListFacts>();
	expectTypeOf<FactsOf<"stop_background_process">["status"]>().toEqualTypeOf<"stopped">();
	expectTypeOf<InputOf<"send">["session"]>().toEqualTypeOf<string>();
});

test("a wrong input of a known tool does not compile; an unknown name is for the tool to judge", async () => {
	const client: Client = new FakeClient();
	const sent = client.call("send", { session: "py", text: "1" });
	expectTypeOf(sent).toEqualTypeOf<Promise<Answer<SessionFacts>>>();
	// @ts-expect-error a session is a string
	await expect(client.call("send", { session: 7 })).rejects.toThrow("session");
	// @ts-expect-error the session is missing
	await client.call("send", { text: "1" });
	// For a session of another machine, where the daemon is a member of a fleet.
	await client.call("start", { argv: ["cat"], host: "build1" });
	await client.call("run", { command: "true", placement: { labels: { gpu: "a100" } } });
	// @ts-expect-error only what is started is placed
	await client.call("read", { session: "py", placement: "least-loaded" });
	// @ts-expect-error not a place
	await client.call("start", { argv: ["cat"], placement: "anywhere" });
	const name: string = "send";
	expectTypeOf(client.call(name, { anything: true })).toEqualTypeOf<Promise<Answer>>();
	await expect(client.call("fly", {})).rejects.toThrow("fly");
});

test("a sentence for a model takes filtered values and nothing else", () => {
	const raw: string = "\x1b[2J";
	// @ts-expect-error a plain string did not pass the filter
	expect(safe`${raw}`).toContain("\x1b");
	// @ts-expect-error filtered text may have several lines: it belongs inside a fence
	expect(safe`[main] ${clean("a\n[other] ended").text}`).toContain("\n");
	const id: `id-${string}` = `id-${raw}`;
	// @ts-expect-error what follows the literal part did not pass the filter
	expect(safe`${id}`).toContain("\x1b");
	// @ts-expect-error nor has one of these
	expect(safe`${raw === "" ? "empty" : raw}`).toContain("\x1b");
	// @ts-expect-error two lines
	expect(safe`${"a\nb"}`).toContain("\n");
	expect(safe`${oneLine(raw)}, ${7}, ${raw === "" ? "empty" : "full"}`).toBe("[2J, 7, full");
});
