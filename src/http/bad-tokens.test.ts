import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { BadTokens } from "./bad-tokens.ts";

const from = (remoteAddress: string) => ({ remoteAddress }) as Socket;
const refused = (bad: BadTokens, address: string) => bad.count(from(address)).fault?.code ?? null;

test("bad tokens beyond the limit are refused for their peer, and for no other", () => {
	const bad = new BadTokens(3);
	expect([1, 2, 3, 4].map(() => refused(bad, "192.0.2.1"))).toEqual([null, null, null, "too_many_bad_tokens"]);
	expect(refused(bad, "192.0.2.2")).toBeNull();
});

test("the whole machine is one peer, by whichever address of its own", () => {
	const bad = new BadTokens(3);
	const all = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.8.9.1"].map((address) => refused(bad, address));
	expect(all).toEqual([null, null, null, "too_many_bad_tokens"]);
});

test("a connection that has tried ten is closed", () => {
	const bad = new BadTokens(1000);
	const socket = from("127.0.0.1");
	expect(Array.from({ length: 10 }, () => bad.count(socket).close)).toEqual([...Array(9).fill(false), true]);
	expect(bad.count(from("127.0.0.1")).close).toBe(false);
});

test("peers beyond what is remembered are forgotten, the oldest first", () => {
	const bad = new BadTokens(1);
	for (let n = 0; n < 1001; n++) expect(refused(bad, `10.0.${n >> 8}.${n & 255}`)).toBeNull();
	expect(refused(bad, "10.0.3.232")).toBe("too_many_bad_tokens");
	expect(refused(bad, "10.0.0.0")).toBeNull();
});
