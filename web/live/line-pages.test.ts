import { expect, test } from "vitest";
import { LinePages } from "./line-pages.ts";

const output = (total: number) => {
	const asked: number[] = [];
	const load = async (from: number, to: number) => {
		asked.push(from);
		const rows = Array.from({ length: Math.max(0, Math.min(to, total) - from + 1) }, (_, i) => `line ${from + i}`);
		return { from, rows, total };
	};
	return { asked, load };
};

test("only the pages in view are loaded, each once", async () => {
	const { asked, load } = output(1_000);
	const pages = new LinePages(load, () => {});
	await pages.want(390, 420);
	await pages.want(395, 425);
	expect(asked).toEqual([201, 401]);
	expect([pages.line(400), pages.line(401), pages.line(1)]).toEqual(["line 400", "line 401", undefined]);
	expect(pages.total).toBe(1_000);
});

test("a last page that has grown is loaded again", async () => {
	const { asked, load } = output(50);
	const pages = new LinePages(load, () => {});
	await pages.want(1, 50);
	pages.grown(60);
	await pages.want(1, 60);
	expect(asked).toEqual([1, 1]);
});
