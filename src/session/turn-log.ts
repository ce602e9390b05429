// What is recorded of a session beside its output: each turn (who typed how much, why their call returned), the
// commands of a shell, what state it was in, who drove it, signals and approvals. Never what was typed.
//
// A turn begins with what a caller types and ends when its wait returns; one that does not wait, as a person
// at the keyboard, ends after a pause. Written by journal/turns.ts, read by journal/timeline.ts.

import { readTurns, type TurnEntry, TurnsWriter, type Typist } from "../journal/turns.ts";
import type { Attention } from "../protocol/answer.ts";
import type { Decision } from "../protocol/approval.ts";
import { oneLine } from "../protocol/clean.ts";
import type { RecordedDriver } from "../protocol/timeline.ts";
import { addCounts, countInput, type InputCounts } from "../terminal/input-counts.ts";
import type { Finished } from "./shell/commands.ts";

/** Keys with a shorter pause between them are one turn of a person. */
const PAUSE_MS = 1500;
/** A person who types without a pause is shown as they go. */
const MAX_TURN_MS = 10_000;
const MAX_WHO_CHARS = 200;
const MAX_NOTE_CHARS = 500;
const MAX_COMMAND_CHARS = 200;

export interface TurnLogParts {
	/** Null: nothing is kept. */
	readonly directory: string | null;
	/** How much output there is. */
	readonly offset: () => number;
}

interface TypedInput {
	/** Null: no caller does. */
	readonly typist: Typist | null;
	/** What to count instead of the bytes. */
	readonly counts?: InputCounts | undefined;
	/** The program asks for a secret. */
	readonly secret: boolean;
	/** It was typed by this name. */
	readonly named?: string | undefined;
}

interface OpenTurn {
	readonly typist: Typist;
	readonly at: number;
	readonly beganMs: number;
	readonly offset: number;
	counts: InputCounts;
	secret: boolean;
	named: string | undefined;
	/** Calls that wait after having typed. */
	waiting: number;
	timer: NodeJS.Timeout | null;
}

export class TurnLog implements AsyncDisposable {
	readonly #directory: string | null;
	readonly #offset: () => number;
	readonly #writer: TurnsWriter | null;
	/** By who types. */
	readonly #open = new Map<string, OpenTurn>();
	#state = "";
	/** Commands are recorded in the order of their ends. */
	#commands: Promise<void> = Promise.resolve();
	/** Where the output of the last recorded one ends; null before it is known. */
	#lastCommandTo: number | null = null;

	constructor({ directory, offset }: TurnLogParts) {
		this.#directory = directory;
		this.#offset = offset;
		this.#writer = directory === null ? null : new TurnsWriter(directory);
	}

	/** What it takes on disk, at most. */
	get bytes(): number {
		return this.#writer?.bytes ?? 0;
	}

	/** Bytes are being typed. */
	typed(bytes: Uint8Array, { typist, counts = countInput(bytes), secret, named }: TypedInput): void {
		if (bytes.length === 0 || typist === null) return;
		const key = keyOf(typist);
		const turn = this.#open.get(key) ?? this.#begin(key, typist);
		turn.counts = addCounts(turn.counts, counts);
		turn.secret ||= secret;
		turn.named ??= named;
		if (turn.waiting > 0) return;
		if (performance.now() - turn.beganMs > MAX_TURN_MS) this.#end(key, turn, null);
		else this.#endAfterPause(key, turn);
	}

	/** A caller waits for what its typing brings about; the returned function says why the wait is over. */
	waits(who: string): (returned: string | null) => void {
		const key = keyOf({ by: "agent", who });
		const turn = this.#open.get(key);
		if (turn === undefined) return () => {};
		turn.waiting++;
		clearTimeout(turn.timer ?? undefined);
		return (returned) => {
			turn.waiting--;
			if (turn.waiting === 0 && this.#open.get(key) === turn) this.#end(key, turn, returned);
		};
	}

	/**
	 * A command of its shell has ended. `replayed`: before this daemon; then it is recorded unless an earlier daemon has
	 * done so. Commands end one after the other, so all after the last that is recorded are missing.
	 */
	command(
		{ from, to, exitCode, shown }: Pick<Finished, "from" | "to" | "exitCode" | "shown">,
		{ replayed = false }: { readonly replayed?: boolean } = {},
	): void {
		const command = shown === null ? {} : { command: oneLine(shown, MAX_COMMAND_CHARS) };
		const entry = { kind: "command", at: Date.now(), offset: from, to, exitCode, ...command } as const;
		this.#commands = this.#commands.then(async () => {
			if (replayed && to <= (await this.#lastCommand())) return;
			this.#lastCommandTo = to;
			this.#append(entry);
		});
	}

	async #lastCommand(): Promise<number> {
		if (this.#lastCommandTo !== null || this.#directory === null) return this.#lastCommandTo ?? 0;
		const { entries } = await readTurns(this.#directory);
		const ends = entries.map((entry) => (entry.kind === "command" ? entry.to : 0));
		this.#lastCommandTo = ends.reduce((last, end) => Math.max(last, end), 0);
		return this.#lastCommandTo;
	}

	/** Whose turn it is was told. */
	state({ activity, waitingFor }: Pick<Attention, "activity" | "waitingFor">): void {
		const state = waitingFor === "secret" ? "secret" : activity;
		if (state === this.#state) return;
		this.#state = state;
		this.#append({ kind: "state", at: Date.now(), offset: this.#offset(), state });
	}

	/** Somebody else drives, with what they have to say about it. */
	driver(driver: RecordedDriver, note?: string): void {
		this.#endAll();
		const recorded =
			driver.kind === "agent" ? { kind: driver.kind } : { kind: driver.kind, who: driver.who.slice(0, MAX_WHO_CHARS) };
		const said = note === undefined || note === "" ? {} : { note: oneLine(note, MAX_NOTE_CHARS) };
		this.#append({ kind: "driver", at: Date.now(), offset: this.#offset(), driver: recorded, ...said });
	}

	signalled(signal: string, who: string): void {
		this.#append({ kind: "signal", at: Date.now(), offset: this.#offset(), signal, who: who.slice(0, MAX_WHO_CHARS) });
	}

	/** A person has decided about what an agent wanted to do there. */
	decided({ approve, who, note = "" }: Decision): void {
		const said = note === "" ? {} : { note: oneLine(note, MAX_NOTE_CHARS) };
		const by = { who: oneLine(who, MAX_WHO_CHARS), approved: approve };
		this.#append({ kind: "approval", at: Date.now(), offset: this.#offset(), ...by, ...said });
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#endAll();
		await this.#commands;
		await this.#writer?.settled();
	}

	#begin(key: string, typist: Typist): OpenTurn {
		const turn: OpenTurn = {
			typist,
			at: Date.now(),
			beganMs: performance.now(),
			offset: this.#offset(),
			counts: { keys: 0, lines: 0 },
			secret: false,
			named: undefined,
			waiting: 0,
			timer: null,
		};
		this.#open.set(key, turn);
		return turn;
	}

	#endAfterPause(key: string, turn: OpenTurn): void {
		clearTimeout(turn.timer ?? undefined);
		turn.timer = setTimeout(() => this.#end(key, turn, null), PAUSE_MS).unref();
	}

	#endAll(): void {
		for (const [key, turn] of [...this.#open]) this.#end(key, turn, null);
	}

	#end(key: string, turn: OpenTurn, returned: string | null): void {
		clearTimeout(turn.timer ?? undefined);
		this.#open.delete(key);
		const { typist, at, offset, counts, secret, named, beganMs } = turn;
		// How long a secret is tells something about it.
		const counted = secret ? { keys: 0, lines: 0, secret, ...(named !== undefined && { named }) } : counts;
		const tookMs = returned === null ? null : Math.round(performance.now() - beganMs);
		const who = typist.who.slice(0, MAX_WHO_CHARS);
		this.#append({ kind: "turn", at, offset, by: typist.by, who, ...counted, returned, tookMs });
	}

	#append(entry: TurnEntry): void {
		this.#writer?.append(entry);
	}
}

const keyOf = ({ by, who }: Typist) => `${by} ${who}`;
