// Who calls over the fleet, by its role and owner, and what it may ask for. The identity is known before the first
// byte; nothing that is sent changes it.

import type { PersonAct } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import { observerOf } from "../session/observer.ts";
import { approvalsWithin, type Scope, sessionsWithin } from "../session/scope.ts";
import type { Sessions } from "../session/sessions.ts";
import { ABILITIES, type Ability, ACT_NEEDS } from "../tools/abilities.ts";
import { findTool } from "../tools/catalogue.ts";
import type { Role } from "../tools/client.ts";
import { ScopedSessions } from "../tools/scoped.ts";
import type { Caller } from "../tools/tool.ts";
import type { Authority } from "./callers.ts";
import type { Done, Question } from "./wire.ts";

/** Who asks, as whoever has accepted the connection knows it. */
export interface FleetCaller {
	readonly role: Role;
	/** Null: all owners. */
	readonly owner: string | null;
	/** The host from which it asks, by its own word. */
	readonly from?: string;
}

/**
 * What a question needs. `nothing`: tells nothing of sessions · an ability · `tool`: that of the tool that is called ·
 * `act`: that of what the person does · a text: nobody may, in the words of the fault.
 */
const FROM_FLEET = {
	hello: "nothing",
	tools: "nothing",
	status: "reads",
	events: "reads", // each is checked
	call: "tool",
	output: "reads",
	view: "reads",
	drawn: "reads",
	drivers: "reads",
	snapshot: "reads",
	act: "act",
	people: "reads", // as far as it is within the owner's
	approvals: "approves",
	decide: "approves",
	http: { refused: "Opening HTTP from another machine" },
	fleet: { refused: "Joining or leaving a fleet from another machine" },
	stop: { refused: "Stopping the daemon from another machine" },
} as const satisfies Record<Question["do"], "nothing" | "tool" | "act" | Ability | { readonly refused: string }>;

export interface FleetCallersParts {
	readonly sessions: Sessions;
	/** What programs inherit that are started from other machines: theirs means nothing here. */
	readonly programs: Pick<Caller, "cwd" | "env" | "withheld" | "inheriting">;
}

export class FleetCallers {
	readonly #parts: FleetCallersParts;
	readonly #scoped: ScopedSessions;
	/** One for each owner: calls at the same moment mean the same shell. */
	readonly #scopes = new Map<string, Scope>();

	constructor(parts: FleetCallersParts) {
		this.#parts = parts;
		this.#scoped = new ScopedSessions((scope) => sessionsWithin(parts.sessions, scope));
	}

	/** Throws where there is nobody of this role and owner. */
	authority(as: FleetCaller): Authority {
		// A scope's owner is a pattern; an agent without an owner would be all of them.
		if (as.owner?.includes("*") || (as.role === "drive" && as.owner === null))
			throw new Fault("not_allowed", { what: "A connection of the fleet for this role and owner" });
		const scope = as.owner === null ? null : this.#scopeOf(as.owner);
		const { sessions } = this.#parts;
		return {
			admit: (question) => this.#admit(question, as, scope),
			hearing: () => {
				const hears = this.#scoped.hearing({ scope });
				return async (event) => hears(event);
			},
			told: async (question, done) => told(question, done, { as, scope, sessions }),
		};
	}

	async #admit(question: Question, as: FleetCaller, scope: Scope | null): Promise<Question> {
		mustBeAllowed(question, as);
		if (question.do === "decide") {
			const open = approvalsWithin(scope, this.#parts.sessions.approvals.list()).map(({ id }) => id);
			if (!open.includes(question.approval)) throw new Fault("approval_not_found", { id: question.approval, open });
			const { decision } = question;
			return { ...question, decision: { ...decision, who: named(decision.who, as) } };
		}
		if (question.do === "people")
			return { ...question, decides: question.decides && may(as, "approves"), ...(scope !== null && { scope }) };
		if (question.do === "call") return { ...question, caller: this.#callerOf(question.caller, as, scope) };
		if (!("session" in question)) return question;
		const session = await this.#scoped.meant({ scope }, question.session);
		if (question.do === "act") {
			const { act, caller } = question;
			return { ...question, session, act: actAs(act, as), caller: this.#callerOf(caller, as, scope) };
		}
		if (question.do !== "drivers" || may(as, "administers")) return { ...question, session };
		return { do: "drivers", session }; // it can have no lease
	}

	#callerOf({ owner, sessionsOf, commandLine, parent }: Caller, as: FleetCaller, scope: Scope | null): Caller {
		const { role, from } = as;
		const caller: Caller = {
			...this.#parts.programs,
			owner: as.owner ?? (role === "admin" ? owner : `fleet:${role}`),
			token: `fleet:${role}:${as.owner ?? "*"}`,
			commandLine,
			parent,
			...(from !== undefined && { from }),
			...(scope !== null && { scope }),
		};
		if (role === "admin" && as.owner === null) return { ...caller, sessionsOf };
		// Who only looks must not take from the owner what is new to it.
		const isObserver =
			!may(as, "types") || (sessionsOf !== undefined && owner === observerOf({ ...caller, owner: sessionsOf }).owner);
		return isObserver ? observerOf(caller) : caller;
	}

	#scopeOf(owner: string): Scope {
		const known = this.#scopes.get(owner);
		if (known !== undefined) return known;
		const scope = { owner };
		this.#scopes.set(owner, scope);
		return scope;
	}
}

const may = ({ role }: FleetCaller, ability: Ability): boolean => ABILITIES[role].includes(ability);

function mustBeAllowed(question: Question, as: FleetCaller): void {
	const rule = FROM_FLEET[question.do];
	if (typeof rule === "object") throw new Fault("not_allowed", { what: rule.refused });
	const needed = neededFor(question, rule);
	if (needed === "nothing" || may(as, needed)) return;
	const what = question.do === "call" ? `Calling \`${question.tool}\`` : `\`${question.do}\``;
	throw new Fault("not_allowed", { what: `${what} over the fleet as \`${as.role}\`` });
}

function neededFor(question: Question, rule: "nothing" | "tool" | "act" | Ability): Ability | "nothing" {
	if (rule === "act") return question.do === "act" ? ACT_NEEDS[question.act.act] : "administers";
	if (rule !== "tool") return rule;
	// A tool that there is none of does nothing.
	return question.do === "call"
		? (findTool(question.tool, question.input, question.sets)?.effect ?? "nothing")
		: "administers";
}

/** The audit log and agents are told by which identity a person came, beside the name that they give. */
const named = (who: string, { role, owner, from }: FleetCaller): string =>
	`${who} (fleet ${role}${owner === null ? "" : ` ${owner}`}${from === undefined ? "" : ` from ${from}`})`;

const actAs = (act: PersonAct, as: FleetCaller): PersonAct =>
	"who" in act ? { ...act, who: named(act.who, as) } : act;

/** What of an answer is about others. */
function told(
	question: Question,
	done: Done,
	{ as, scope, sessions }: { readonly as: FleetCaller; readonly scope: Scope | null; readonly sessions: Sessions },
): Done {
	if (question.do === "hello") {
		const refused = new Fault("not_allowed", { what: "Administering Dialtone from another machine" });
		return { hello: { ...done.hello!, refused: refused.toJSON() } };
	}
	if (question.do === "approvals") return { approvals: approvalsWithin(scope, done.approvals!) };
	if (question.do !== "status" || may(as, "administers")) return done;
	const running = scope === null ? done.status!.sessions : sessionsWithin(sessions, scope).runningCount();
	return { status: { ...done.status!, socket: null, http: null, sessions: running } };
}
