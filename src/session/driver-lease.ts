// Who may type into a session: agents, or the one person who took it over.
//
// A person who takes over gets a lease, a secret of theirs. Every write names its writer, and `mayType` is asked in the
// moment it is typed: what was queued before a take-over is refused, too. Each change of the driver has a number, the epoch.
// A person whose connections are all gone for half a minute has left. What people did is told to each caller once, with its
// next answer; until then a caller that knew the session must not type: it does not know what it would type into.
// Kept in `driver.json`, so that all of this outlives the daemon.

import { createHash, randomBytes } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { checked, FORMAT, MAX_BYTES, parseJson, readCache } from "../journal/state-file.ts";
import type { DriverChange, DriverFacts } from "../protocol/driver.ts";
import { Fault } from "../protocol/fault.ts";
import { Listeners } from "../protocol/listeners.ts";
import { addCounts, type InputCounts } from "../terminal/input-counts.ts";
import { describeReport } from "./person-report.ts";

/** Who types. */
export type Writer =
	/** A caller of the tools, by its owner; null: Dialtone itself, for a call that was answered before. */
	| { readonly agent: string | null }
	/** The person who drives. */
	| { readonly lease: string }
	/** A person who gives what the program or an agent asked for: without driving, or with their lease while they drive. */
	| { readonly person: string; readonly lease?: string | undefined };

/** A person who is gone for this long does not drive any more: a tab that was reloaded is back in seconds. */
export const ABSENT_MS = 30_000;
const SAVE_MS = 1000;
const MAX_REPORTS = 32;
const MAX_OWNERS = 64;
const FILE = "driver.json";

const count = z.int().min(0);
const person = z.object({ who: z.string(), since: z.number(), lease: z.string(), keys: count, pastedLines: count });
const report = z.object({
	epoch: count,
	/** `left`: drove, and was gone without handing it back. */
	did: z.enum(["drove", "left", "answered", "declined", "secret"]),
	who: z.string(),
	keys: count,
	pastedLines: count,
	note: z.string().nullable(),
});
const schema = z.object({
	epoch: count,
	person: person.nullable(),
	reports: z.array(report),
	told: z.array(z.tuple([z.string(), count])),
});

/** What a person did, for agents to be told. */
export type PersonReport = Readonly<z.output<typeof report>>;
type Person = Readonly<z.output<typeof person>>;
type Saved = z.output<typeof schema>;

const hashOf = (lease: string) => createHash("sha256").update(lease).digest("hex");
const DROVE: ReadonlySet<PersonReport["did"]> = new Set(["drove", "left"]);

export interface LeaseParts {
	readonly id: string;
	readonly name: string;
	/** This caller has seen the session before. */
	readonly isKnown: (owner: string) => boolean;
}

export class DriverLease implements Disposable {
	readonly #path: string | null;
	readonly #changes = new Listeners<DriverChange>("driver");
	#parts: LeaseParts | null = null;
	#epoch: number;
	#person: Person | null;
	#reports: readonly PersonReport[];
	readonly #told: Map<string, number>;
	/** Connections of the person who drives. */
	#present = 0;
	#absence: NodeJS.Timeout | null = null;
	#saving: NodeJS.Timeout | null = null;

	/** Without a directory it is kept in memory only. */
	constructor(directory: string | null = null, saved: Saved | null = null) {
		this.#path = directory && join(directory, FILE);
		this.#epoch = saved?.epoch ?? 0;
		this.#person = saved?.person ?? null;
		this.#reports = saved?.reports ?? [];
		this.#told = new Map(saved?.told);
	}

	static async load(directory: string): Promise<DriverLease> {
		const saved = await readCache({
			path: join(directory, FILE),
			maxBytes: MAX_BYTES.driver,
			parse: (text) => checked(schema, parseJson(text)),
		});
		return new DriverLease(directory, saved);
	}

	/** The session that it belongs to. One who drove when the daemon ended has as long to come back as one whose tab is gone. */
	begin(parts: LeaseParts): void {
		this.#parts = parts;
		if (this.#person !== null) this.#awaitReturn();
	}

	get driver(): DriverFacts {
		if (this.#person === null) return { kind: "agent" };
		const { who, since } = this.#person;
		return { kind: "person", who, since, epoch: this.#epoch };
	}

	onChange(listener: (change: DriverChange) => void): () => void {
		return this.#changes.add(listener);
	}

	isMine(lease: string | undefined): boolean {
		return lease !== undefined && this.#person?.lease === hashOf(lease);
	}

	/** Throws unless this writer may type now. */
	mayType(writer: Writer): void {
		this.mayAct(writer);
		if ("agent" in writer && writer.agent !== null && this.#mustLook(writer.agent))
			throw new Fault("typed_by_human", { ...this.#named(), did: this.#untold(writer.agent).map(describeReport) });
	}

	/** Throws unless this writer may signal or resize now: what people did need not be known for that. */
	mayAct(writer: Writer): void {
		if ("person" in writer && this.isMine(writer.lease)) return;
		if ("lease" in writer && !("person" in writer)) this.#mustDrive(writer.lease);
		else this.refuseWhileDriven();
	}

	/** Throws while a person drives. */
	refuseWhileDriven(): void {
		if (this.#person === null) return;
		const { who, since } = this.#person;
		throw new Fault("driven_by_human", { ...this.#named(), who, since });
	}

	/** Takes over, also from another person; returns the lease. With a lease it goes on with that one, or throws. */
	take(who: string, lease?: string): string {
		if (lease !== undefined) {
			this.#mustDrive(lease);
			return lease;
		}
		this.#finish("left", null);
		const taken = randomBytes(16).toString("hex");
		this.#epoch++;
		this.#person = { who, since: Date.now(), lease: hashOf(taken), keys: 0, pastedLines: 0 };
		this.#present = 0;
		this.#awaitReturn();
		this.#changed();
		return taken;
	}

	/** A connection of the person who drives, until the returned function is called. Of any other lease it is none. */
	connect(lease: string | undefined): () => void {
		if (!this.isMine(lease)) return () => {};
		// Not the epoch: it grows with what they report while they drive, too.
		const driving = this.#person?.lease;
		this.#present++;
		this.#forgetAbsence();
		let connected = true;
		return () => {
			if (!connected || this.#person?.lease !== driving) return;
			connected = false;
			if (--this.#present === 0) this.#awaitReturn();
		};
	}

	handBack(lease: string, note: string | null): void {
		this.#mustDrive(lease);
		this.#finish("drove", note);
		this.#changed(note);
	}

	/** What the person who drives has typed. */
	typed(counts: InputCounts): void {
		if (this.#person === null) return;
		const { keys, lines } = addCounts({ keys: this.#person.keys, lines: this.#person.pastedLines }, counts);
		this.#person = { ...this.#person, keys, pastedLines: lines };
		this.#saving ??= setTimeout(() => this.#save(), SAVE_MS).unref();
	}

	/** What a person gave, whether they drive or not. */
	report(did: "answered" | "declined" | "secret", who: string): void {
		this.#add({ did, who, keys: 0, pastedLines: 0, note: null });
		this.#save();
	}

	/** What people did since this caller was last told; it counts as told. */
	takeReports(owner: string): readonly PersonReport[] {
		const untold = this.#untold(owner);
		if (untold.length === 0) return untold;
		this.#told.delete(owner);
		this.#told.set(owner, this.#epoch);
		const [oldest] = this.#told.keys();
		if (this.#told.size > MAX_OWNERS && oldest !== undefined) this.#told.delete(oldest);
		this.#save();
		return untold;
	}

	/** The session has ended: nobody drives it. */
	end(): void {
		if (this.#person === null) return;
		this.#finish("drove", null);
		this.#changed();
	}

	[Symbol.dispose](): void {
		this.#forgetAbsence();
		if (this.#saving !== null) this.#save();
		this.#changes.clear();
	}

	#mustDrive(lease: string): void {
		if (this.isMine(lease)) return;
		throw new Fault("not_driving", { ...this.#named(), ...(this.#person && { who: this.#person.who }) });
	}

	#mustLook(owner: string): boolean {
		return this.#parts?.isKnown(owner) === true && this.#untold(owner).some(({ did }) => DROVE.has(did));
	}

	#untold(owner: string): readonly PersonReport[] {
		const told = this.#told.get(owner) ?? 0;
		return this.#reports.filter(({ epoch }) => epoch > told);
	}

	#finish(did: "drove" | "left", note: string | null): void {
		this.#forgetAbsence();
		if (this.#person === null) return;
		const { who, keys, pastedLines } = this.#person;
		this.#person = null;
		this.#add({ did, who, keys, pastedLines, note });
	}

	/** Under a number of its own: whoever was told before it was not told of it. */
	#add(did: Omit<PersonReport, "epoch">): void {
		this.#epoch++;
		this.#reports = [...this.#reports.slice(1 - MAX_REPORTS), { epoch: this.#epoch, ...did }];
	}

	#awaitReturn(): void {
		this.#forgetAbsence();
		this.#absence = setTimeout(() => {
			this.#finish("left", null);
			this.#changed();
		}, ABSENT_MS).unref();
	}

	#forgetAbsence(): void {
		if (this.#absence !== null) clearTimeout(this.#absence);
		this.#absence = null;
	}

	#changed(note: string | null = null): void {
		this.#save();
		this.#changes.emit({ driver: this.driver, note });
	}

	#named(): { id: string; sessionId: string } {
		return { id: this.#parts?.name ?? "", sessionId: this.#parts?.id ?? "" };
	}

	#save(): void {
		if (this.#saving !== null) clearTimeout(this.#saving);
		this.#saving = null;
		if (this.#path === null) return;
		const saved: Saved = {
			epoch: this.#epoch,
			person: this.#person,
			reports: [...this.#reports],
			told: [...this.#told],
		};
		try {
			writeFileSync(`${this.#path}.tmp`, JSON.stringify({ format: FORMAT, ...saved }), { mode: 0o600 });
			renameSync(`${this.#path}.tmp`, this.#path);
		} catch {
			// A full disk, or the session was removed: the next daemon knows an older driver, or none.
		}
	}
}
