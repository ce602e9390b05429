// Ended sessions on disk: indexed when the daemon starts, loaded on demand, removed when
// their total size exceeds the quota.
//
// The cost of an end does not grow with their number: sizes and names are in the index,
// and a start reads only the records of what may run and of the last that ended.

import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { EndedIndex } from "../journal/ended-index.ts";
import { directoryBytes, TotalQuota } from "../journal/quota.ts";
import { readRecord, type SessionRecord, sessionIds } from "../journal/records.ts";
import { CorruptState } from "../journal/state-file.ts";
import { inParallel } from "./in-parallel.ts";
import type { Options } from "./options.ts";
import { recoverRecord } from "./recovered.ts";
import { Registry } from "./registry.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";

/** Records read at a time: each needs a descriptor. */
const PARALLEL_READS = 32;
/** A directory without a readable record may be a session that is being created; not after an hour. */
const ABANDONED_AFTER_MS = 3_600_000;

export interface ArchiveParts {
	/** The directory of all sessions. */
	readonly sessions: string;
	readonly options: Options;
	readonly slotOf: (record: SessionRecord, launch?: (slot: SessionSlot) => Promise<Session>) => SessionSlot;
	readonly onProblem: (problem: unknown, doing: string) => void;
}

export class Archive {
	readonly registry: Registry;
	readonly #parts: ArchiveParts;
	readonly #index: EndedIndex;
	readonly #quota: TotalQuota;

	private constructor(parts: ArchiveParts, index: EndedIndex) {
		this.#parts = parts;
		this.#index = index;
		const { rememberEnded, totalBytes } = parts.options;
		this.registry = new Registry({ index, rememberEnded, slotOf: parts.slotOf, read: (id) => this.#recordOf(id) });
		this.#quota = new TotalQuota({
			index,
			maxBytes: totalBytes,
			runningBytes: () => this.#runningBytes(),
			remove: (id) => this.#remove(id),
		});
	}

	/** With slots for what may run and for the last that ended; all others are known to the index. */
	static async open(parts: ArchiveParts): Promise<Archive> {
		const ids = new Set(await sessionIds(parts.sessions));
		const archive = new Archive(parts, await EndedIndex.load(parts.sessions, ids));
		await archive.#readRecords(ids);
		return archive;
	}

	/** A session of which nothing runs any more. */
	async add(slot: SessionSlot): Promise<void> {
		const measured = this.#indexed(slot.record);
		this.registry.remember(slot);
		await measured;
		await this.#quota.enforce().catch((error) => this.#parts.onProblem(error, "enforcing the total quota"));
	}

	/** More was written for a session than it had when it ended. */
	remeasure(id: string): Promise<void> {
		return this.#index.update(id, () => directoryBytes(this.#directoryOf(id)));
	}

	/** Settles when the index is on disk. */
	settled(): Promise<void> {
		return this.#index.settled();
	}

	async #readRecords(ids: ReadonlySet<string>): Promise<void> {
		const recent = new Set(this.#index.newest(this.#parts.options.rememberEnded));
		const wanted = [...ids].filter((id) => !this.#index.has(id) || recent.has(id));
		const records: SessionRecord[] = [];
		await inParallel(PARALLEL_READS, wanted, async (id) => {
			const record = await this.#recordOf(id);
			if (record !== null) records.push(record);
			else await this.#addAbandoned(id);
		});
		for (const record of records.sort((a, b) => (a.resolvedAt ?? a.createdAt) - (b.resolvedAt ?? b.createdAt))) {
			const slot = this.registry.add(record);
			if (record.terminalOpen) continue;
			void this.#indexed(record);
			this.registry.remember(slot);
		}
	}

	/** Null where there is none that can be read; one that is corrupt is made anew from what else is known. */
	async #recordOf(id: string): Promise<SessionRecord | null> {
		const directory = this.#directoryOf(id);
		try {
			return await readRecord(directory).catch((error: unknown) => {
				if (error instanceof CorruptState) return recoverRecord(directory);
				throw error;
			});
		} catch (error) {
			this.#parts.onProblem(error, `reading the record of ${id}`);
			return null;
		}
	}

	/** Left incomplete by a daemon that died: counts towards the quota once it is certainly abandoned. */
	async #addAbandoned(id: string): Promise<void> {
		const found = await lstat(this.#directoryOf(id)).catch(() => null); // already removed
		if (!found?.isDirectory() || found.mtimeMs > Date.now() - ABANDONED_AFTER_MS) return;
		void this.#indexed({ id, name: "", owner: null });
	}

	#indexed(record: Pick<SessionRecord, "id" | "name" | "owner">): Promise<void> {
		return this.#index.add(record, () => directoryBytes(this.#directoryOf(record.id)));
	}

	async #remove(id: string): Promise<void> {
		await this.registry.useId(id, (slot) =>
			slot === null ? rm(this.#directoryOf(id), { recursive: true, force: true }) : slot.remove(),
		);
		this.registry.forget(id);
	}

	#runningBytes(): number {
		const most = this.#parts.options.quotaBytes || Number.POSITIVE_INFINITY;
		return this.registry.open().reduce((sum, { inMemory }) => {
			if (inMemory === null) return sum;
			return sum + Math.min(inMemory.journal.end, most) + inMemory.transcript.keptBytes;
		}, 0);
	}

	#directoryOf(id: string): string {
		return join(this.#parts.sessions, id);
	}
}
