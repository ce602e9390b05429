// One block at the end of a run: which programs are missing, and what was skipped for lack of them.

import type { Reporter, TestModule } from "vitest/node";
import { PACKAGES } from "./programs.ts";

export default class SkipReport implements Reporter {
	onTestRunEnd(modules: readonly TestModule[]): void {
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
}
