// `npm run bench -- NAME [--quick]`: runs bench/NAME.bench.ts; without a name, says which there are.
import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { quick: { type: "boolean" } } });
const names = readdirSync(import.meta.dirname)
	.filter((file) => file.endsWith(".bench.ts"))
	.map((file) => file.replace(".bench.ts", ""));
const [name = ""] = positionals;

if (names.includes(name)) {
	const { run } = (await import(`./${name}.bench.ts`)) as { run: (options: { quick: boolean }) => Promise<void> };
	await run({ quick: values.quick ?? false });
} else {
	console.error(`Usage: npm run bench -- NAME [--quick]\nThere are: ${names.join(", ")}`);
	process.exitCode = 2;
}
