import { describe, expect, test } from "vitest";
import { knownSpellings, masked } from "../protocol/masking.ts";
import { maskFromNowOn } from "./secret-spellings.ts";

test("R4.9 a value is masked as HTML has it, whichever way its quotes are escaped", () => {
	maskFromNowOn(`p&ss<w>"or'd`);
	for (const quotes of [
		[`"`, "'"],
		["&quot;", "'"],
		["&quot;", "&#39;"],
		["&quot;", "&#039;"],
		["&quot;", "&#x27;"],
		["&quot;", "&apos;"],
		["&#34;", "&#39;"],
	]) {
		const html = `p&amp;ss&lt;w&gt;${quotes[0]}or${quotes[1]}d`;
		expect(masked(`<b>${html}</b>`)).toBe(`<b>${"*".repeat(html.length)}</b>`);
	}
});

describe("R4.9 a value with much to escape is masked", () => {
	const value = `Zq7"<x&>/9+pW\\kk3 Ü2`;
	const json = `Zq7\\"<x&>/9+pW\\\\kk3 Ü2`;
	const twice = (text: string) => JSON.stringify(text).slice(1, -1);
	test.each([
		["in a URL, as Python's quote has it", "Zq7%22%3Cx%26%3E/9%2BpW%5Ckk3%20%C3%9C2"],
		["in a URL, with slashes kept and a plus for a space", "Zq7%22%3Cx%26%3E/9%2BpW%5Ckk3+%C3%9C2"],
		["in a URL, as quote_plus has it", "Zq7%22%3Cx%26%3E%2F9%2BpW%5Ckk3+%C3%9C2"],
		["in a URL, in small letters", "Zq7%22%3cx%26%3e/9%2bpW%5ckk3+%c3%9c2"],
		["in JSON", json],
		["in JSON with slashes escaped", json.replace("/", "\\/")],
		["in JSON of ASCII", json.replace("Ü", "\\u00dc")],
		["in JSON as PHP has it", json.replace("/", "\\/").replace("Ü", "\\u00dc")],
		["in JSON as Go has it", json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")],
		["in JSON within JSON", twice(json)],
		["in JSON within JSON, of ASCII", twice(json.replace("Ü", "\\u00dc"))],
		["in HTML with numbers for punctuation", "Zq7&#34;&#60;x&#38;&#62;&#47;9&#43;pW&#92;kk3 Ü2"],
		["in HTML with hexadecimal numbers", "Zq7&#x22;&#x3c;x&#x26;&#x3e;&#x2f;9&#x2b;pW&#x5c;kk3 Ü2"],
		["in HTML with hexadecimal numbers in capitals", "Zq7&#x22;&#x3C;x&#x26;&#x3E;&#x2F;9&#x2B;pW&#x5C;kk3 Ü2"],
		["in HTML with numbers for all but ASCII letters", "Zq7&#34;&#60;x&#38;&#62;&#47;9&#43;pW&#92;kk3&#32;&#220;2"],
	])("%s", (_, spelling) => {
		maskFromNowOn(value);
		expect(masked(`is ${spelling}.`)).toBe(`is ${"*".repeat(spelling.length)}.`);
	});
});

test("R4.9 the spellings of a value are bounded, and the plain one is kept whatever has to go", () => {
	const long = (seed: string) => seed.repeat(1000).slice(0, 1000);
	for (const value of [`"'</& Ü>+\\_!x`, long(`"'</& Ü>+\\`), long("Ü/ "), long("ab/c")]) {
		const before = new Set(knownSpellings());
		maskFromNowOn(value);
		const news = knownSpellings().filter((spelling) => !before.has(spelling));
		expect(news.length).toBeLessThanOrEqual(40);
		expect(news.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(16_000);
		// A holder refuses longer ones, and what comes after them.
		for (const spelling of news) expect(Buffer.byteLength(spelling)).toBeLessThanOrEqual(4096);
		expect(masked(value)).toBe("*".repeat(value.length));
	}
	for (let i = 0; i < 50; i++) maskFromNowOn(`value "<&/ ${i} Ü`);
	expect(knownSpellings().length).toBeLessThanOrEqual(256);
	for (let i = 45; i < 50; i++) expect(masked(`value "<&/ ${i} Ü`)).not.toContain("value");
});
