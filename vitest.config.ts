import { defineConfig } from "vitest/config";
import SlowFirst from "./test/slow-first.ts";

// unit: pure and quick, beside their sources. real: real programs on a shared,
// noisy machine, so few at a time and with limits that only a hang can reach.
// long: the same where it takes minutes; `npm run test:long`.
const inCi = process.env.CI !== undefined;

const FLEET_IN_LONG = ["test/fleet/{contract-socket,joined,permissions,roles}.test.ts"];

/** Many programs, a browser, everything over every way in, kills and floods: more than half of all the time. */
const LONG = [
	"test/{adversary,contract,conversation,corpus,fuzz,limits,page,places,robustness,soak}/*.test.ts",
	...FLEET_IN_LONG,
	"test/cli/attach.test.ts",
	"test/daemon/{flood,killed,lifecycle,mislaid,stress}.test.ts",
	"test/dialects/{environment,recall}.test.ts",
	"test/http/{matrix,watch-load}.test.ts",
	"test/journal/moments.test.ts",
	"test/pty/stream.test.ts",
	"test/sandbox/{attention,escapes}.test.ts",
	"test/secrets/everywhere.test.ts",
	"test/session/{corrupt-state,flood,given-up,library-end,slots,slots.model,transcript}.test.ts",
];

/** With a command of its own: minutes of killed servers, lost links and cut networks. */
const FLEET = ["test/fleet/*.test.ts"];

const withPrograms = {
	globalSetup: "test/checkout.ts",
	setupFiles: "test/leaks.ts",
	testTimeout: 240_000,
	hookTimeout: 60_000,
	pool: "forks" as const,
	maxWorkers: 3, // on two cores, which that keeps busy: more would only wait for each other
};

export default defineConfig({
	test: {
		reporters: [inCi ? "dot" : "default", "./test/end-report.ts"],
		sequence: { sequencer: SlowFirst },
		silent: inCi ? "passed-only" : false,
		projects: [
			{
				test: {
					name: "unit",
					sequence: { groupOrder: 0 },
					include: ["src/**/*.test.ts", "web/**/*.test.ts", "test/layers.test.ts"],
					globalSetup: "test/checkout.ts",
					setupFiles: "test/leaks.ts",
					testTimeout: 120_000, // some are properties, which a busy machine takes its time for
					hookTimeout: 60_000,
					maxWorkers: 2, // not one less than there are cores: they never wait
				},
			},
			{
				test: {
					name: "real",
					sequence: { groupOrder: 1 },
					include: ["test/**/*.test.ts"],
					exclude: ["test/layers.test.ts", ...LONG, ...FLEET],
					...withPrograms,
				},
			},
			{
				test: {
					name: "long",
					sequence: { groupOrder: 2 },
					include: LONG,
					...withPrograms,
				},
			},
			{
				test: {
					name: "fleet",
					sequence: { groupOrder: 3 },
					include: FLEET,
					exclude: FLEET_IN_LONG,
					...withPrograms,
				},
			},
		],
	},
});
