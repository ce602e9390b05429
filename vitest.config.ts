import { defineConfig } from "vitest/config";

// unit: pure and quick, beside their sources. real: real programs on a shared,
// noisy machine, so few at a time and with limits that only a hang can reach.
const inCi = process.env.CI !== undefined;

export default defineConfig({
	test: {
		reporters: [inCi ? "dot" : "default", "./test/skip-report.ts"],
		silent: inCi ? "passed-only" : false,
		projects: [
			{
				test: {
					name: "unit",
					sequence: { groupOrder: 0 },
					include: ["src/**/*.test.ts", "test/layers.test.ts"],
					globalSetup: "test/checkout.ts",
					setupFiles: "test/leaks.ts",
					testTimeout: 20_000,
				},
			},
			{
				test: {
					name: "real",
					sequence: { groupOrder: 1 },
					include: ["test/**/*.test.ts"],
					exclude: ["test/layers.test.ts"],
					globalSetup: "test/checkout.ts",
					setupFiles: "test/leaks.ts",
					testTimeout: 120_000,
					hookTimeout: 60_000,
					pool: "forks",
					maxWorkers: 3, // on two cores: half of the time they wait
				},
			},
		],
	},
});
