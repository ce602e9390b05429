// Checks everything the product depends on and reports what is wrong and what to do:
// one record per check, each independent of the others.

import { accessSync, constants, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { AUDIT_DIRECTORY, verify } from "../journal/audit-chain.ts";
import { setAsideIn } from "../journal/state-file.ts";
import { oneLine } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { checkPrivate } from "../pty/private-directory.ts";
import { tryConfining } from "../pty/sandbox.ts";
import { SandboxError, type SandboxProblem } from "../pty/sandbox-error.ts";
import { LEARNT_FILE, readLearnt } from "../session/learnt.ts";
import { isKnownVariable, optionTable } from "../session/option-table.ts";
import { resolveOptions } from "../session/options.ts";
import type { Dependencies, Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";

const MAX_NAMES = 5;

type Verdict = { readonly ok: boolean | "warn"; readonly found: string; readonly next?: string };

interface Check {
	readonly name: string;
	readonly check: (dependencies: Dependencies, env: NodeJS.ProcessEnv) => Verdict | Promise<Verdict>;
}

const FOR_SANDBOX: Partial<Record<SandboxProblem, string>> = {
	no_bwrap: "Debian: bubblewrap.",
	no_helper: "Run `npm run setup`.",
	no_namespaces:
		"Allow user namespaces to this user: the sysctls user.max_user_namespaces, kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, or the container's settings.",
};

const CHECKS: readonly Check[] = [
	{
		name: "node",
		check: () => {
			const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
			const ok = major > 20 || (major === 20 && minor >= 19);
			return { ok, found: process.versions.node, ...(!ok && { next: "Install Node 20.19 or newer." }) };
		},
	},
	{
		name: "holder",
		check: ({ holderPath }) => {
			try {
				accessSync(holderPath, constants.X_OK);
				return { ok: true, found: holderPath };
			} catch {
				return { ok: false, found: `${holderPath} is missing or not executable`, next: "Run `npm run setup`." };
			}
		},
	},
	{
		name: "terminals",
		check: () => {
			try {
				accessSync("/dev/ptmx", constants.R_OK | constants.W_OK);
				return { ok: true, found: "/dev/ptmx can be opened" };
			} catch (error) {
				return { ok: false, found: String(error), next: "Mount devpts, or give this user access to /dev/ptmx." };
			}
		},
	},
	{
		name: "kernel facts",
		check: () => {
			try {
				readFileSync("/proc/self/syscall", "utf8");
				readlinkSync("/proc/self/fd/0");
			} catch {
				return {
					ok: "warn",
					found: "/proc/PID/syscall cannot be read",
					next: "Waiting is then inferred from silence and the screen, and marked `guess`.",
				};
			}
			let scope = "0";
			try {
				scope = readFileSync("/proc/sys/kernel/yama/ptrace_scope", "utf8").trim();
			} catch {
				// No Yama in this kernel: no restriction.
			}
			return Number(scope) > 1
				? { ok: "warn", found: `ptrace_scope is ${scope}`, next: "Waiting is then marked `guess`; 0 or 1 would work." }
				: { ok: true, found: `/proc/PID/syscall can be read (ptrace_scope ${scope})` };
		},
	},
	{
		name: "sandbox",
		check: async () => {
			try {
				return { ok: true, found: `${await tryConfining()} can confine programs` };
			} catch (error) {
				if (!(error instanceof SandboxError)) throw error;
				const next = `${FOR_SANDBOX[error.problem] ?? "See docs/sandbox.md."} Until then what asks for a sandbox is not started.`;
				return { ok: "warn", found: `no program can be confined: ${error.message}`, next };
			}
		},
	},
	{
		name: "state directory",
		check: ({ stateDir }) => {
			try {
				return checkPrivate(stateDir)
					? { ok: true, found: `${stateDir}, yours alone` }
					: { ok: true, found: `${stateDir} does not exist yet; the first session creates it` };
			} catch (error) {
				if (!(error instanceof Fault)) throw error;
				return { ok: false, found: error.message, next: error.next };
			}
		},
	},
	{
		name: "locks",
		check: ({ daemon }) => {
			const corrupt = daemon.corruptLocks();
			return corrupt.length === 0
				? { ok: true, found: "no corrupt lock file" }
				: {
						ok: "warn",
						found: `corrupt: ${corrupt.join(", ")}`,
						next: "They are passed over; the next daemon removes them.",
					};
		},
	},
	{
		name: "disk",
		check: ({ stateDir }) => {
			try {
				const at = statSync(stateDir).isDirectory();
				accessSync(stateDir, constants.W_OK);
				return { ok: at, found: "writable" };
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code === "ENOENT") return { ok: true, found: "nothing written yet" };
				return { ok: false, found: String(error), next: "Set DIALTONE_HOME to a writable directory." };
			}
		},
	},
	{
		name: "state files",
		check: ({ stateDir }) => {
			const corrupt = [...new Set([stateDir, join(stateDir, "sessions")].flatMap(setAsideIn))];
			if (corrupt.length === 0) return { ok: true, found: "none was corrupt" };
			const shown = corrupt.slice(0, MAX_NAMES).join(", ");
			return {
				ok: "warn",
				found: `${corrupt.length} corrupt and set aside: ${shown}${corrupt.length > MAX_NAMES ? ", …" : ""}`,
				next: "Their content was read from the log instead, or is learnt anew; remove these files when you have looked at them.",
			};
		},
	},
	{
		name: "audit log",
		check: async ({ stateDir, daemon }) => {
			const problem = (await daemon.status())?.auditProblem;
			if (problem !== undefined)
				return {
					ok: "warn",
					found: problem,
					next: "Make room on the disk; how many lines are missing will be in the log.",
				};
			const { lines, lost, broken } = verify(join(stateDir, AUDIT_DIRECTORY));
			if (broken !== null)
				return {
					ok: "warn",
					found: `${broken.file}, line ${broken.line}: ${broken.problem}`,
					next: "See docs/audit.md.",
				};
			return { ok: true, found: `${lines} lines, unchanged${lost > 0 ? `; ${lost} could not be written` : ""}` };
		},
	},
	{
		name: "learnt programs",
		check: async ({ stateDir }) => {
			const path = join(stateDir, LEARNT_FILE);
			const entries = await readLearnt(path);
			if (entries === null) return { ok: true, found: "none" };
			const count = new Set(entries.map((entry) => `${entry.path} ${entry.version} ${entry.arguments}`)).size;
			return { ok: true, found: `${count}, in ${path}; deleting it is safe` };
		},
	},
	{
		name: "options",
		check: (_, env) => {
			const names = Object.keys(env).filter((name) => name.startsWith("DIALTONE_"));
			const unknown = names.filter((name) => !isKnownVariable(name));
			const set = optionTable().filter(({ variable }) => names.includes(variable));
			try {
				resolveOptions({}, env);
			} catch (error) {
				if (!(error instanceof Fault)) throw error;
				return { ok: false, found: error.message, next: "docs/options.md has the bounds." };
			}
			if (unknown.length > 0)
				return { ok: "warn", found: `not read by Dialtone: ${unknown.join(", ")}`, next: "docs/options.md lists all." };
			const shown = set.map(({ variable, default: value }) => `${variable}=${env[variable]} (default ${value})`);
			return { ok: true, found: set.length === 0 ? "all at their defaults (docs/options.md)" : shown.join(", ") };
		},
	},
	{
		name: "fonts",
		check: async () => {
			const { fontsFor, missingFontsNotice } = await import("../tools/fonts.ts");
			const { files, missing } = await fontsFor("a漢🦀");
			if (files.length === 0)
				return { ok: "warn", found: "no monospaced one: no PNG pictures", next: "Debian: fonts-dejavu-core." };
			const notice = missingFontsNotice(missing);
			return notice === null ? { ok: true, found: files[0]! } : { ok: "warn", found: `in pictures ${notice}` };
		},
	},
	{
		name: "daemon",
		check: async (dependencies) => {
			const status = await dependencies.daemon.status();
			if (status === null) return { ok: true, found: "not running; the first call starts it" };
			const same = status.version === dependencies.version;
			return {
				ok: same,
				found: `${status.version}, process ${status.pid}, ${status.sessions} sessions`,
				...(!same && {
					next: `This is ${dependencies.version}: run \`dialtone daemon restart\`; sessions keep running.`,
				}),
			};
		},
	},
];

const MAX_FOUND_CHARS = 1000;
const MARK = { true: "ok  ", false: "BAD ", warn: "note" } as const;

export async function doctor({ json, io, dependencies }: Invocation): Promise<number> {
	const checks: (Verdict & { name: string })[] = [];
	for (const { name, check } of CHECKS) {
		try {
			checks.push({ name, ...(await check(dependencies, io.env)) });
		} catch (error) {
			checks.push({ name, ok: false, found: (error as Error).message });
		}
	}
	const ok = checks.every((check) => check.ok !== false);
	if (json) io.out(`${JSON.stringify({ ok, version: dependencies.version, checks })}\n`);
	else {
		for (const { name, ok, found, next } of checks)
			io.out(`${MARK[`${ok}`]}  ${name}: ${oneLine(found, MAX_FOUND_CHARS)}${next ? `\n      → ${next}` : ""}\n`);
	}
	return ok ? EXIT.ok : EXIT.fault;
}
