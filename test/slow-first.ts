// The files that take longest start first, so that no worker is left alone with one of them at the end. Vitest goes by the
// times of the run before; in a fresh clone it goes by size, and some of the slowest files are the smallest.

import { join } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const SLOW: readonly string[] = [
	"corpus/corpus",
	"contract/contract",
	"adversary/adversary",
	"limits/worst-input",
	"contract/confined",
	"page/flood",
	"shell/turn",
	"mcp/stdio",
	"cli/cli",
	"page/looks",
	"cli/attach",
	"session/flood",
	"dialects/recall",
	"dialects/environment",
	"daemon/lifecycle",
	"session/turn-taking",
	"session/transcript",
	"soak/soak",
	"fuzz/fuzz",
	"session/corrupt-state",
	"shell/streams",
	"holder/end",
	"trust/audit",
].map((name) => join(import.meta.dirname, `${name}.test.ts`));

const rank = ({ moduleId }: TestSpecification) => {
	const at = SLOW.indexOf(moduleId);
	return at < 0 ? SLOW.length : at;
};
const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder;

export default class SlowFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		return (await super.sort(files)).sort((a, b) => group(a) - group(b) || rank(a) - rank(b));
	}
}
