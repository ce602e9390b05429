import { expect, test } from "vitest";
import { masked } from "../protocol/masking.ts";
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
