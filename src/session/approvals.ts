// Calls that wait for a person's decision. A request belongs to what is asked, not to a connection: the
// caller may go and repeat the same call, which joins it. An approval is for one call.

import { createHash, randomBytes } from "node:crypto";
import type { Approval, Decision } from "../protocol/approval.ts";
import { clean, oneLine } from "../protocol/clean.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import { type Condition, type Subscribe, wait } from "../pty/wait.ts";

const MAX_REQUESTS = 100;
const MAX_OF_OWNER = 20;
/** How long a person has. */
const PENDING_MS = 60 * 60_000;
/** How long a decision waits for the call to be repeated, where nobody waits for it. */
const DECIDED_MS = 10 * 60_000;

/** What is asked for. */
export interface Wanted extends Omit<Approval, "id" | "at"> {
	/** The same for the same call of the same caller. */
	readonly key: readonly unknown[];
}

interface Request {
	readonly approval: Approval;
	readonly key: string;
	decision: Decision | null;
	waiting: number;
	timer: NodeJS.Timeout;
}

export type ApprovalChange = { readonly approval: Approval } & (
	| { readonly is: "wanted" | "expired" }
	| { readonly is: "decided"; readonly decision: Decision }
);

export class Approvals {
	readonly #requests = new Map<string, Request>();
	readonly #changes = new Listeners<ApprovalChange>("approvals");

	/** Those that nobody has decided on, the oldest first. */
	list(): readonly Approval[] {
		return [...this.#requests.values()].filter(({ decision }) => decision === null).map(({ approval }) => approval);
	}

	onChange(listener: (change: ApprovalChange) => void): () => void {
		return this.#changes.add(listener);
	}

	/** Settles with the approval, which is used up by that. Throws where it is denied, or nobody decides in time. */
	async ask(
		wanted: Wanted,
		{ withinMs, signal, page }: { withinMs: number; signal: AbortSignal; page: string | null },
	): Promise<Decision> {
		const request = this.#requestFor(wanted);
		const { approval } = request;
		const onChange: Subscribe = (listener) => this.#changes.add(listener);
		const decided: Condition<Decision | null> = {
			start: ({ settle, own, guard, after }) => {
				const look = guard<void>(() => {
					// Gone: expired, or used by the same call from another connection.
					if (request.decision !== null || !this.#requests.has(approval.id)) settle(request.decision);
				});
				own(onChange(look));
				after(withinMs, () => settle(null));
				look();
			},
		};
		request.waiting++;
		let decision: Decision | null;
		try {
			decision = await wait([decided], { signal });
		} finally {
			request.waiting--;
		}
		if (decision === null || !this.#requests.has(approval.id))
			throw new Fault("approval_pending", { id: approval.id, what: approval.what, page });
		if (decision.approve || request.waiting === 0) this.#remove(request);
		if (decision.approve) return decision;
		throw new Fault("denied_by_person", { who: decision.who, note: decision.note?.trim() || null });
	}

	/** Throws where there is no such request, or it was decided. */
	decide(id: string, decision: Decision): Approval {
		const request = this.#requests.get(id);
		if (request === undefined || request.decision !== null)
			throw new Fault("approval_not_found", { id, open: this.list().map((one) => one.id) });
		request.decision = { ...decision, who: oneLine(decision.who), note: clean(decision.note ?? "").text };
		clearTimeout(request.timer);
		request.timer = this.#removedAfter(request, DECIDED_MS);
		const { approval } = request;
		this.#changes.emit({ approval, is: "decided", decision: request.decision });
		return approval;
	}

	[Symbol.dispose](): void {
		for (const { timer } of this.#requests.values()) clearTimeout(timer);
		this.#requests.clear();
	}

	#requestFor({ key: parts, ...about }: Wanted): Request {
		const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
		const all = [...this.#requests.values()];
		const known = all.find((one) => one.key === key);
		if (known !== undefined) return known;
		const ofOwner = all.filter(({ approval }) => approval.owner === about.owner).length;
		if (all.length >= MAX_REQUESTS || ofOwner >= MAX_OF_OWNER)
			throw new Fault("too_many_requests", { what: `${Math.min(all.length, MAX_REQUESTS)} requests for approval` });
		const approval: Approval = Object.freeze({ id: randomBytes(4).toString("hex"), at: Date.now(), ...about });
		const request: Request = { approval, key, decision: null, waiting: 0, timer: undefined as never };
		request.timer = this.#removedAfter(request, PENDING_MS);
		this.#requests.set(approval.id, request);
		this.#changes.emit({ approval, is: "wanted" });
		return request;
	}

	#removedAfter(request: Request, ms: number): NodeJS.Timeout {
		return setTimeout(() => {
			this.#remove(request);
			if (request.decision === null) this.#changes.emit({ approval: request.approval, is: "expired" });
		}, ms).unref();
	}

	#remove({ approval: { id }, timer }: Request): void {
		clearTimeout(timer);
		this.#requests.delete(id);
	}
}
