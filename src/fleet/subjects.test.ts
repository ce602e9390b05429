import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ROLES } from "../tools/client.ts";
import {
	askerIn,
	downSubject,
	hostNameOf,
	isHostName,
	keyToken,
	linkIn,
	openSubject,
	textOf,
	tokenOf,
	upSubject,
} from "./subjects.ts";

const link = "0123456789abcdef0123456789abcdef";
/** Up to 100 characters, of any script, with what means something in a subject. */
const owner = fc.oneof(
	fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }).filter((text) => text.length <= 100),
	fc.constantFrom("_", ".", "*", ">", "a.b", "mcp:claude code", "=5F", " ", "\u0000", "$JS", "drive.a"),
);

describe("a name in a subject", () => {
	test("is one token, and comes back as it was", () => {
		fc.assert(
			fc.property(owner, (text) => {
				fc.pre(tokenFits(text));
				const token = tokenOf(text);
				expect(token).toMatch(/^[A-Za-z0-9_=-]+$/);
				expect(textOf(token)).toBe(text);
			}),
		);
	});

	test("is read from any bytes without an error, and only where it is the token that is made", () => {
		fc.assert(
			fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[=A-F0-9a]{1,12}$/)), (token) => {
				const text = textOf(token);
				if (text !== null) expect(tokenOf(text)).toBe(token);
			}),
		);
		expect(textOf("=61")).toBeNull(); // "a" has another
		expect(textOf("=FF")).toBeNull(); // not UTF-8
		expect(textOf("=2a")).toBeNull();
	});

	test("is refused where it could be taken for another", () => {
		for (const text of ["", "\ud800", "x".repeat(2000)])
			expect(() => tokenOf(text)).toThrow(expect.objectContaining({ code: "bad_input" }));
	});

	test("is a token of a key whatever it is, and each has its own", () => {
		const odd = [
			"",
			"=",
			"\u0000",
			"\ud800",
			"\ud801",
			"\ufffd",
			"é".repeat(500),
			`${"é".repeat(500)}!`,
			"x".repeat(2000),
		];
		const text = fc.oneof(owner, fc.constantFrom(...odd), fc.string({ unit: "binary", maxLength: 2000 }));
		fc.assert(
			fc.property(text, text, (one, other) => {
				expect(keyToken(one)).toMatch(/^[A-Za-z0-9_=-]{1,1000}$/);
				expect(keyToken(one) === keyToken(other)).toBe(one === other);
			}),
		);
		expect(new Set(odd.map(keyToken)).size).toBe(odd.length);
		expect(keyToken("mcp:a.b *>é")).toBe(tokenOf("mcp:a.b *>é"));
	});

	test("never means all owners", () => {
		expect(tokenOf("_")).not.toBe("_");
		expect(askerIn(openSubject("h", { role: "drive", owner: "_" }))).toEqual({ role: "drive", owner: "_" });
	});
});

test("who asks is read from the subject, for every role and owner", () => {
	const identity = fc.record({ role: fc.constantFrom(...ROLES), owner: fc.option(owner) });
	fc.assert(
		fc.property(identity, (as) => {
			fc.pre(as.owner === null || tokenFits(as.owner));
			expect(askerIn(openSubject("gpu-1", as))).toEqual(as);
			expect(linkIn(upSubject("gpu-1", as, link))).toEqual({ as, link });
			expect(downSubject(as, link).split(".")).toHaveLength(5);
		}),
	);
});

test("other subjects say of nobody who asks", () => {
	for (const subject of [
		"dt.open.h.root.a",
		"dt.open.h.drive",
		"dt.open.h.drive.a.b",
		"dt.up.h.drive.a",
		"x.open.h.drive.a",
	])
		expect(askerIn(subject)).toBeNull();
	expect(linkIn(`dt.up.h.drive.a.${link}.x`)).toBeNull();
	expect(linkIn("dt.up.h.drive.a.short")).toBeNull();
});

test("a machine's name is made to fit", () => {
	expect(hostNameOf("GPU_1.example.org")).toBe("gpu-1");
	expect(hostNameOf("...")).toBe("host");
	fc.assert(fc.property(fc.string(), (machine) => isHostName(hostNameOf(machine))));
});

const tokenFits = (text: string): boolean => Buffer.byteLength(text) * 3 <= 1000;
