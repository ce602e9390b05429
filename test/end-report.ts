// Two blocks at the end of a run: which programs are missing, with what was skipped for lack of them; and a line for
// each failure, which a reader of much output finds there.

import { relative } from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { PACKAGES } from "./programs.ts";

const MAX_MESSAGE = 500;

export default class EndReport implements Reporter {
	onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
		reportSkipped(modules);
		reportFailed(modules);
		for (const { message, stack, VITEST_TEST_PATH: file } of unhandled) {
			const where = typeof file === "string" ? `${relative(process.cwd(), file)}:?: ` : "";
			console.log(`failed: ${where}outside of a test: ${oneLine(message)} ⏎ ${oneLine(stack ?? "")}`);
		}
	}
}

function reportSkipped(modules: readonly TestModule[]): void {
	const skipped = new Map<string, string[]>();
	for (const module of modules)
		for (const test of module.children.allTests())
			for (const { program, part } of test.meta().missing ?? []) {
				const name = part ?? test.fullName;
				skipped.set(program, [...(skipped.get(program) ?? []), `${module.relativeModuleId}: ${name}`]);
			}
	if (skipped.size === 0) return;
	const lines = [...skipped]
		.sort(([a], [b]) => a.localeCompare(b))
		.flatMap(([program, tests]) => [`  ${program}`, ...tests.map((test) => `    ${test}`)]);
	const packages = [...new Set([...skipped.keys()].flatMap((program) => PACKAGES.get(program) ?? []))].sort();
	console.log(`\nSkipped, because these are missing:\n${lines.join("\n")}`);
	if (packages.length > 0) console.log(`To run them: apt-get install ${packages.join(" ")}`);
}

function reportFailed(modules: readonly TestModule[]): void {
	for (const module of modules) {
		const failed = [...module.children.allTests("failed")].map((test) => ({
			name: test.fullName,
			errors: test.result().errors ?? [],
		}));
		const own = module.errors();
		if (own.length > 0) failed.push({ name: "(the file)", errors: own });
		for (const { name, errors } of failed) {
			const [error] = errors;
			const line = error?.stacks?.at(0)?.line ?? "?";
			console.log(`failed: ${module.relativeModuleId}:${line}: ${name}: ${oneLine(error?.message ?? "")}`);
		}
	}
}

const oneLine = (text: string) => text.slice(0, MAX_MESSAGE).replaceAll("\n", " ⏎ ");
