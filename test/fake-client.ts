// A client without terminals, for tests of the ways in alone: it answers in the
// real shapes, remembers what it was asked, and waits only as long as its caller does.

import type { ListedSession, SessionFacts } from "../src/protocol/answer.ts";
import type { Approval, Decision } from "../src/protocol/approval.ts";
import { clean, oneLine } from "../src/protocol/clean.ts";
import type { DriverView, PersonAct, PersonDone } from "../src/protocol/driver.ts";
import type { SessionEvent } from "../src/protocol/events.ts";
import { Fault } from "../src/protocol/fault.ts";
import type { OutputChunk } from "../src/protocol/output.ts";
import type { ListChange } from "../src/protocol/session-list.ts";
import type {
	Answer,
	CallOptions,
	Client,
	DrawnOptions,
	DriversOptions,
	PeopleOptions,
	ToolCard,
	ViewChunk,
	ViewOptions,
} from "../src/tools/client.ts";

const schema = (properties: Record<string, object>, ...required: string[]) => ({
	type: "object",
	properties,
	required,
	additionalProperties: false,
});
const text = { type: "string" };
const card = (name: string, effect: ToolCard["effect"], inputSchema: object): ToolCard => ({
	name,
	title: name,
	description: `What ${name} does. More words.`,
	effect,
	always: ["start", "send", "read", "run"].includes(name),
	inputSchema: inputSchema as ToolCard["inputSchema"],
	factsSchema: { type: "object" },
});

export const FAKE_CARDS: readonly ToolCard[] = [
	card(
		"start",
		"starts",
		schema({ command: text, argv: { type: "array" }, name: text, timeoutMs: { type: "integer" } }),
	),
	card("send", "types", schema({ session: text, text, timeoutMs: { type: "integer", default: 120_000 } }, "session")),
	card("read", "reads", schema({ session: text, view: text }, "session")),
	card("wait", "reads", schema({ session: text, timeoutMs: { type: "integer", default: 30_000 } }, "session")),
	card("list", "reads", schema({ status: text })),
	card("close", "ends", schema({ session: text }, "session")),
	card("run", "types", schema({ command: text, timeoutMs: { type: "integer" } }, "command")),
	card("signal", "types", schema({ session: text, signal: text }, "session")),
	card("ask_human", "types", schema({ session: text, question: text }, "session")),
];

/** A session of the command line's own, in a list. */
export const listed = (name: string, more: Partial<ListedSession> = {}): ListedSession => ({
	session: `id-${name}`,
	name: name as ListedSession["name"],
	command: oneLine("python3"),
	cwd: oneLine("/"),
	status: "running",
	activity: "waiting",
	waitingFor: "line",
	because: oneLine("python3 (7) reads the terminal"),
	exit: null,
	pid: 7,
	createdAt: 1,
	updatedAt: 1,
	offset: 0,
	lines: 0,
	lastLine: oneLine(""),
	truncated: false,
	mine: (more.owner ?? "cli") === "cli",
	byName: true,
	owner: "cli",
	parent: null,
	keep: false,
	inherit: null,
	sandbox: "none",
	...more,
});

interface FakeCall {
	readonly tool: string;
	readonly input: Record<string, unknown>;
	readonly options: CallOptions | undefined;
}

export class FakeClient implements Client {
	readonly calls: FakeCall[] = [];
	readonly typed: string[] = [];
	readonly acts: string[] = [];
	/** Bytes that `output` has to give; more may be pushed. */
	output_: Uint8Array = Buffer.from("Python 3.11\r\n>>> ");
	events_: SessionEvent[] = [];
	#wake: (() => void)[] = [];
	exit: { code: number | null; signal: string | null } | null = null;
	list: ListedSession[] = [listed("py")];
	now = 1;
	/** Where HTTP is open. */
	http: string | null = null;
	/** What the answers of `wait`, `send` and the like say instead. */
	answer: Partial<SessionFacts> | null = null;
	/** What they are refused with. */
	refusal: Fault | null = null;

	/** What waits for a person. */
	waiting: Approval[] = [];
	readonly decided: { id: string; decision: Decision }[] = [];

	async approvals(): Promise<readonly Approval[]> {
		return this.waiting;
	}

	async decide(id: string, decision: Decision): Promise<Approval> {
		const found = this.waiting.find((one) => one.id === id);
		if (found === undefined) throw new Fault("approval_not_found", { id, open: this.waiting.map((one) => one.id) });
		this.decided.push({ id, decision });
		return found;
	}

	call = async (tool: string, input: unknown, options?: CallOptions): Promise<Answer> => {
		const said = input as Record<string, unknown>;
		this.calls.push({ tool, input: said, options });
		const { session = "py" } = said;
		if (tool === "list") return { facts: { sessions: this.list, now: this.now }, text: "py running" };
		if (!FAKE_CARDS.some(({ name }) => name === tool)) throw new Fault("unknown_tool", { tool, tools: ["start"] });
		if (typeof session !== "string") throw new Fault("bad_input", { problems: ["session: expected string"] });
		if (!["py", "0py0"].includes(session)) throw new Fault("session_not_found", { id: session, open: ["py"] });
		if (this.refusal !== null) throw this.refusal;
		if (this.answer !== null) return this.#answer({ ...this.facts("now"), ...this.answer });
		if (tool === "wait") await this.#aborted(options?.signal);
		if (tool === "run")
			return this.#answer({ ...this.facts("now"), text: clean("hello").text, ...{ exitCode: 3, timedOut: false } });
		return this.#answer(this.facts(tool === "read" ? "now" : "waiting"));
	};

	facts(returned: SessionFacts["returned"]): SessionFacts {
		return {
			session: "0py0",
			name: oneLine("py"),
			status: this.exit ? "succeeded" : "running",
			activity: this.exit ? null : "waiting",
			waitingFor: this.exit ? null : "line",
			certainty: this.exit ? null : "certain",
			because: oneLine("python3 (7) reads the terminal"),
			returned,
			matched: null,
			text: clean(">>> ").text,
			offset: this.output_.length,
			truncated: false,
			exit: this.exit,
			cwd: oneLine("/"),
			ports: [],
			driver: "agent",
			sandbox: null,
			elapsedMs: 4,
			view: "lines",
			cursor: null,
			highlights: [],
			missed: null,
		};
	}

	#answer(facts: SessionFacts & object): Answer {
		return { facts, text: `[${facts.name}] ${facts.activity ?? facts.status} <<754\n${facts.text}\n754` };
	}

	#aborted(signal: AbortSignal | undefined): Promise<void> {
		return new Promise((_, reject) => {
			const end = () => reject(signal!.reason);
			if (signal?.aborted) end();
			signal?.addEventListener("abort", end, { once: true });
		});
	}

	tools = async () => FAKE_CARDS;

	happen(event: Partial<SessionEvent>): void {
		const seq = this.events_.length + 1;
		const base = {
			seq,
			at: seq,
			event: "attention",
			session: "0py0",
			name: "py",
			status: "running",
			offset: 0,
		} as const;
		this.events_.push({ ...base, ...event });
		this.wake();
	}

	print(more: string): void {
		this.output_ = Buffer.concat([this.output_, Buffer.from(more)]);
		this.wake();
	}

	wake(): void {
		for (const wake of this.#wake.splice(0)) wake();
	}

	async #news(signal: AbortSignal): Promise<void> {
		await new Promise<void>((resolve) => {
			this.#wake.push(resolve);
			signal.addEventListener("abort", () => resolve(), { once: true });
		});
	}

	async *events({ afterSeq = this.events_.length, signal }: { afterSeq?: number; signal: AbortSignal }) {
		for (let at = afterSeq; !signal.aborted; ) {
			if (at < this.events_.length) yield this.events_[at++]!;
			else await this.#news(signal);
		}
	}

	async *output(session: string, { from, signal }: { from: number; signal: AbortSignal }): AsyncIterable<OutputChunk> {
		if (session !== "py" && session !== "0py0") throw new Fault("session_not_found", { id: session, open: ["py"] });
		for (let at = from; !signal.aborted; ) {
			if (at < this.output_.length) {
				yield { offset: at, bytes: this.output_.subarray(at) };
				at = this.output_.length;
			} else if (this.exit) return;
			else await this.#news(signal);
		}
	}

	async snapshot() {
		return { content: ">>> ", cols: 80, rows: 24, offset: this.output_.length };
	}

	async *people(_options: PeopleOptions): AsyncGenerator<ListChange> {}

	async *drawn(_session: string, _options: DrawnOptions): AsyncGenerator<Uint8Array> {
		yield this.output_;
	}

	async *view(session: string, { signal }: ViewOptions): AsyncGenerator<ViewChunk> {
		const snapshot = await this.snapshot();
		yield { snapshot };
		yield* this.output(session, { from: snapshot.offset, signal });
	}

	async *drivers(_session: string, { signal }: DriversOptions): AsyncGenerator<DriverView> {
		yield { driver: { kind: "agent" }, mine: false };
		await this.#aborted(signal).catch(() => {});
	}

	async act(_session: string, act: PersonAct): Promise<PersonDone> {
		this.acts.push(act.act);
		if (act.act === "keys") this.typed.push(Buffer.from(act.base64, "base64").toString());
		return act.act === "take" ? { lease: "0lease0" } : {};
	}

	status = async () => ({ pid: 1, version: "0.1.0", socket: null, sessions: 1, startedAt: 0, http: this.http });

	async [Symbol.asyncDispose](): Promise<void> {}
}
