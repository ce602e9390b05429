// What every call that does more than read passes before it is done: the rules of the policy, a person's approval
// where they ask for it, and the audit log. One place for all tool sets and all ways in.

import { resolve } from "node:path";
import type { PlaceRecord, SessionRecord } from "../journal/records.ts";
import { type Clean, type CleanLine, clean, cleanJson, oneLine, safe } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import type { Approvals, Wanted } from "../session/approvals.ts";
import { type CommandLine, commandOf, commandsIn, withVariables } from "../session/command-line.ts";
import { hasEnded } from "../session/lifecycle.ts";
import { isAbout, type PolicyFile, type Rule } from "../session/policy.ts";
import { placedDirectory, placedLine, runsShell } from "../session/program-place.ts";
import { isShell, ruleFor } from "../session/rules.ts";
import type { Session } from "../session/session.ts";
import type { Sessions } from "../session/sessions.ts";
import type { AuditTrail, Target } from "./audit-trail.ts";
import { AUTOMATIC_ID } from "./client.ts";
import { type Asked, askedMs, askedOf, type Typed } from "./deeds.ts";
import { ownerOf, type Tool, type ToolContext, waitMs } from "./tool.ts";

/** A person reads all of it. */
const MAX_SHOWN_CHARS = 20_000;

interface GateParts {
	readonly sessions: Sessions;
	readonly approvals: Approvals;
	readonly audit: AuditTrail;
}

export interface Passed {
	/** In the audit log. */
	readonly call: string;
	readonly notices: readonly CleanLine[];
	/** A person was asked. */
	readonly waited: boolean;
}

/** The session that a call means. */
interface Found {
	readonly record: SessionRecord;
	readonly session: Session | null;
}

type Acting = Tool & { readonly effect: "starts" | "types" | "ends" };

export class Gate {
	readonly #parts: GateParts;

	constructor(parts: GateParts) {
		this.#parts = parts;
	}

	/** Null for what only reads. Throws where it is denied, or has to wait for longer than the call may. */
	async pass(tool: Tool, input: object, context: ToolContext): Promise<Passed | null> {
		const asked = askedOf(tool, input);
		if (asked === null) return null;
		const { sessions, audit } = this.#parts;
		const { caller } = context;
		const found = await this.#find(asked, context);
		const target = asked.again !== undefined || found === null ? null : targetOf(found);
		const call = audit.call(tool, asked, { caller, target });
		try {
			const policy = sessions.policy.current();
			const rule = policy.rules.length === 0 ? null : this.#ruleFor(tool as Acting, { asked, found, policy, context });
			if (rule === null || rule.then === "allow") return { call, notices: [], waited: false };
			if (rule.then === "deny")
				throw new Fault("denied_by_policy", { what: `\`${tool.name}\``, because: rule.because ?? null });
			if (caller.person) return { call, notices: [], waited: false };
			const who = await this.#approved(tool as Acting, deepFrozen(input), { asked, found, rule, policy, context });
			return { call, notices: [safe`approved by ${oneLine(who)}`], waited: true };
		} catch (error) {
			if (error instanceof Fault) audit.refused(call, tool.name, caller, error.code);
			throw error;
		}
	}

	#ruleFor(tool: Acting, { asked, found, policy, context }: Omit<Meant, "rule">): Rule | null {
		const { caller } = context;
		const deed = {
			tool: tool.name,
			effect: tool.effect,
			signal: asked.signal,
			line: lineOf(asked, found, caller.env.SHELL || "/bin/bash"),
			othersSession: asked.session !== undefined && found !== null && (found.record.owner ?? "") !== ownerOf(caller),
		};
		return ruleFor(policy.rules, deed, caller);
	}

	/** Settles with the name of the person. */
	async #approved(tool: Acting, input: object, meant: Meant): Promise<string> {
		const { context } = meant;
		const wanted = await this.#wanted(tool, input, meant);
		if (wanted.what.length > MAX_SHOWN_CHARS)
			throw new Fault("too_large", { what: "What a person has to approve", limit: MAX_SHOWN_CHARS });
		const withinMs = waitMs(context, askedMs(input));
		const { signal, page = null } = context;
		const { who } = await this.#parts.approvals.ask(wanted, { withinMs, signal, page });
		// A name may mean another session by now, or a shell be in another directory: nobody has approved that.
		const found = await this.#find(meant.asked, context);
		const now = await this.#wanted(tool, input, { ...meant, found });
		if (JSON.stringify(now.key) === JSON.stringify(wanted.key)) return who;
		const because = "since it was approved, another session has its name, or its shell is in another directory";
		throw new Fault("denied_by_policy", { what: `\`${tool.name}\``, because });
	}

	/** What the person is shown. */
	async #wanted(tool: Acting, input: object, { asked, found, rule, policy, context }: Meant): Promise<Wanted> {
		const { caller } = context;
		const of = asked.again === undefined ? (found?.record ?? null) : null;
		const cwd = await directoryOf(asked, found, caller.cwd);
		const sandbox = sandboxOf(asked, found, policy, context);
		return {
			owner: oneLine(caller.owner),
			token: caller.token === undefined ? null : oneLine(caller.token),
			parent: caller.parent === undefined ? null : oneLine(caller.parent),
			tool: oneLine(tool.name),
			effect: tool.effect,
			what: whatOf(asked, found),
			session: of?.id ?? null,
			name: of === null ? null : oneLine(of.name),
			cwd: oneLine(cwd, 4096),
			sandbox,
			because: rule.because === undefined ? null : oneLine(rule.because, 1000),
			key: [caller.owner, caller.token ?? null, tool.name, withoutTimes(input), found?.record.id ?? null, cwd, sandbox],
		};
	}

	/** Null where there is none: the tool says so in its own words, or starts one. */
	async #find({ session: named, again, shell }: Asked, { caller }: ToolContext): Promise<Found | null> {
		const { sessions } = this.#parts;
		await sessions.reread();
		if (shell !== undefined) {
			const [latest] = sessions.shells(caller.owner, shell);
			return latest === undefined || hasEnded(latest.record.state) ? null : latest;
		}
		const reference = named ?? again;
		if (reference === undefined) return null;
		try {
			const record = await sessions.recordNamed(reference, { owner: ownerOf(caller) });
			const session = sessions.list().find((one) => one.record.id === record.id)?.session ?? null;
			return { record, session };
		} catch (error) {
			if (error instanceof Fault) return null;
			throw error;
		}
	}
}

/** Where it would be done: a shell is where its last command has left it. */
async function directoryOf(asked: Asked, found: Found | null, callers: string): Promise<string> {
	const { cwd } = asked;
	const session = found?.session ?? null;
	const there = session === null || session.ended ? null : await session.cwd().catch(() => null); // it has just ended
	const place = placeOf(asked, found);
	if (place !== null) return there ?? placedDirectory(place);
	return resolve(there ?? found?.record.cwd ?? callers, cwd ?? ".");
}

interface Meant {
	readonly asked: Asked;
	readonly found: Found | null;
	readonly rule: Rule;
	readonly policy: PolicyFile;
	readonly context: ToolContext;
}

const targetOf = ({ record: { id, name, owner }, session }: Found): Target => ({
	id,
	name,
	owner: owner ?? null,
	isSecret: session?.attention.waitingFor === "secret",
});

/** Where a call starts its program, or that of the session that it means; null: here. */
function placeOf({ in: place, command, argv, cwd, env, session }: Asked, found: Found | null): PlaceRecord | null {
	if (place !== undefined)
		return { in: place, command: command ?? null, argv: argv ?? null, cwd: cwd ?? null, env: env ?? {} };
	const before = found?.record.place ?? null;
	if (before === null || session !== undefined) return before;
	return { ...before, cwd: cwd ?? before.cwd, env: { ...before.env, ...env } };
}

/** The commands of a call; undefined where it runs none. */
function lineOf(asked: Asked, found: Found | null, shell: string): CommandLine | undefined {
	const line = lineAsked(asked, found, shell);
	const again = asked.again === undefined ? undefined : found?.record.env;
	return line && withVariables(line, { ...again, ...asked.env });
}

function lineAsked(asked: Asked, found: Found | null, shell: string): CommandLine | undefined {
	const { command, runBy, argv, again, typed, session } = asked;
	const place = typed === undefined && session === undefined ? placeOf(asked, found) : null;
	if (place !== null) return placedLine(place);
	if (argv !== undefined) return commandOf(argv);
	if (again !== undefined) return found === null ? undefined : commandOf(found.record.argv);
	if (command !== undefined) {
		const line = commandsIn(command);
		const by = runBy ?? shell;
		// What runs it may be any program: `git` with `-c`.
		return isShell(by) ? line : { ...line, commands: [...line.commands, { words: [by, "-c", command] }] };
	}
	if (typed !== undefined) return found !== null && readsCommands(found) ? entered(typed, found) : undefined;
	return session === undefined ? commandOf([runBy ?? shell]) : undefined;
}

/** A shell runs in it, or reads it now: what is typed while another program runs is read by the shell later. */
const readsCommands = ({ record, session }: Found): boolean =>
	record.shell !== null ||
	isShell((record.place === null ? record.argv[0] : runsShell(record.place)) ?? "") ||
	isShell(session?.reader ?? "");

/** Keys that enter or give up a line; what others make of it only the shell knows. */
const ENTERS = /^(?:enter|return|ctrl[+-]m|ctrl[+-]j)$/i;
const GIVES_UP = /^(?:ctrl[+-][cdlz\\]|esc|escape)$/i;

/** What is typed into a shell, as a command line. */
function entered({ text, submit, keys }: Typed, { session }: Found): CommandLine | undefined {
	const characters = keys.map((key) =>
		ENTERS.test(key) ? "\n" : GIVES_UP.test(key) ? "" : [...key].length === 1 ? key : null,
	);
	const isKnown = !characters.includes(null) && !/[\x00-\x08\x09\x0b\x0c\x0e-\x1f\x7f]/.test(text);
	const whole = `${text}${submit ? "\n" : ""}${characters.join("")}`;
	if (whole === "") return undefined;
	const line = commandsIn(whole);
	// What was typed before is the beginning of the line.
	return { ...line, unclear: line.unclear || !isKnown || (session?.unentered ?? 0) > 0 };
}

/** In full, with invisible characters escaped. */
function whatOf(
	{ command, runBy, argv, again, in: place, env, typed, secret, signal, size }: Asked,
	found: Found | null,
): Clean {
	const there = place ?? (again === undefined ? undefined : found?.record.place?.in);
	const parts = [
		command,
		argv && JSON.stringify(argv),
		again !== undefined ? (found?.record.command ?? again) : undefined,
		secret === undefined ? undefined : `the secret "${secret}"`,
		typed?.text || undefined,
		env && Object.keys(env).length > 0 ? `[environment: ${JSON.stringify(env)}]` : undefined,
		there && `[in ${there}]`,
		runBy && `[run by ${runBy}]`,
		typed?.submit ? "[Enter]" : undefined,
		typed && typed.keys.length > 0 ? `[keys: ${typed.keys.join(" ")}]` : undefined,
		size && `${size.cols}x${size.rows}`,
		signal && `signal ${signal}`,
	];
	const text = parts.filter((part) => part !== undefined).join("\n") || "a shell";
	const shown = clean(text);
	return shown.removed === 0 ? shown.text : cleanJson([text]);
}

function sandboxOf(
	{ sandbox, again }: Asked,
	found: Found | null,
	{ confine }: PolicyFile,
	{ caller }: ToolContext,
): CleanLine {
	// What runs has its sandbox, whatever a call asks for.
	const running = again === undefined && found !== null;
	const forced = confine.find((row) => isAbout(row, caller))?.sandbox ?? caller.inside?.sandbox;
	const chosen = (running ? null : (forced ?? sandbox)) ?? found?.record.sandbox ?? "none";
	return oneLine(typeof chosen === "string" ? chosen : JSON.stringify(chosen), 1000);
}

/** What a repeated call may have otherwise, and is still the same. */
function withoutTimes(input: object): object {
	const { timeoutMs: _, yield_time_ms: __, maxTokens: ___, id, ...rest } = input as Readonly<Record<string, unknown>>;
	return typeof id === "string" && !id.startsWith(AUTOMATIC_ID) ? { ...rest, id } : rest;
}

/** What a person has seen is what is run. */
function deepFrozen<T>(value: T): T {
	if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
	for (const each of Object.values(value)) deepFrozen(each);
	return Object.freeze(value);
}
