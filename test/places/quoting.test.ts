// The line that ssh hands to the login shell there, read by the shells that people have.

import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { placedArgv, quotedForShells } from "../../src/session/program-place.ts";
import { needing, SYSTEM_PATH } from "../programs.ts";

const SHELLS = ["sh", "bash", "zsh", "mksh", "fish", "tcsh"] as const;
const RUNS = 120;
/** Prints each argument with a NUL behind it. */
const PRINT = ["printf", "%s\\0"];
const ASKED = fc.constantFrom(..."'\\!\"$`~*?[]{}()<>|&;#=^% \t-\na0é😀");
const word = fc.oneof(fc.string({ unit: ASKED, maxLength: 12 }), fc.string({ unit: "grapheme", maxLength: 12 }));

function read(shell: string, line: string): readonly string[] {
	const flags = shell === "tcsh" ? ["-fc"] : shell === "fish" ? ["--no-config", "-c"] : ["-c"];
	const { stdout, stderr, status } = spawnSync(shell, [...flags, line], {
		encoding: "utf8",
		env: { ...process.env, PATH: SYSTEM_PATH },
	});
	if (status !== 0) throw new Error(`${shell} ended with ${status}: ${stderr}`);
	return stdout.split("\0").slice(0, -1);
}

describe.each(SHELLS)("as the login shell of a host, %s", (shell) => {
	const programs = shell === "sh" || shell === "bash" ? [] : [shell];
	// In csh a line ends within quotes, too.
	const words = fc.array(
		word.map((one) => one.replaceAll("\0", "").replaceAll(shell === "tcsh" ? /[\n\r]/g : "\0", "")),
		{ minLength: 1, maxLength: 5 },
	);

	test("any arguments arrive as they are", needing(...programs, "python3"), () => {
		fc.assert(
			fc.property(words, (args) => {
				const argv = [...PRINT, ...args];
				const line = placedArgv({ in: "ssh:host", command: null, argv, cwd: null, env: {} }).at(-1)!;
				expect(read(shell, line)).toEqual(args);
			}),
			{ numRuns: RUNS },
		);
	});

	test("so do a directory, variables and a command line", needing(...programs, "python3"), () => {
		fc.assert(
			fc.property(words, (values) => {
				const env = Object.fromEntries(values.map((value, i) => [`V${i}`, value]));
				const command = `printf '%s\\0' ${values.map(quotedForShells).join(" ")}`;
				const script = `import os; print(os.getcwd(), end="\\0"); [print(os.environ[f"V{i}"], end="\\0") for i in range(${values.length})]`;
				const what = { in: "ssh:host", cwd: "/usr/lib", env };
				const python = placedArgv({ ...what, command: null, argv: ["python3", "-c", script] }).at(-1)!;
				expect(read(shell, python)).toEqual(["/usr/lib", ...values]);
				const line = placedArgv({ ...what, command, argv: null }).at(-1)!;
				expect(read(shell, line.replaceAll('"$SHELL"', shell))).toEqual(values);
			}),
			{ numRuns: RUNS / 6 },
		);
	});
});

test("a program of kubectl's shell gets its directory and arguments as they are", () => {
	fc.assert(
		fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (given) => {
			const args = given.map((one) => one.replaceAll("\0", ""));
			const what = { in: "kubectl:pod", command: null, argv: [...PRINT, ...args], cwd: "/usr/lib", env: { A: "b" } };
			const [sh = "", ...rest] = placedArgv(what).slice(placedArgv(what).indexOf("--") + 1);
			const { stdout } = spawnSync(sh, rest, { encoding: "utf8" });
			expect(stdout.split("\0").slice(0, -1)).toEqual(args);
		}),
		{ numRuns: RUNS },
	);
});
