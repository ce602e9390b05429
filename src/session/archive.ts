// Ended sessions on disk: indexed when the daemon starts, loaded on demand, removed when they are too old or
// their total size exceeds the quota.
//
// The cost of an end does not grow with their number: sizes and names are in the index,
// and a start reads only the records of what may run and of the last that ended.

import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type EndedEntry, EndedIndex, type RemovedBecause } from "../journal/ended-index.ts";
import { directoryBytes, TotalQuota } from "../journal/quota.ts";
import type { SessionRecord } from "../journal/records.ts";
import { deleteFiles, deleteTemporaries, sessionIds, takenOut, takeOut } from "../journal/session-directories.ts";
import { Fault } from "../protocol/fault.ts";
import type { Places } from "../pty/places.ts";
import { findRecord } from "./find-record.ts";
import { inParallel } from "./in-parallel.ts";
import type { Options } from "./options.ts";
import { UnreadRecord } from "./recovered.ts";
import { Registry } from "./registry.ts";
import type { Session } from "./session.ts";
import type { SessionSlot } from "./session-slot.ts";

/** Records read at a time: each needs a descriptor. */
const PARALLEL_READS = 32;
/** A directory without a record may be a session that is being created; not after an hour. */
const ABANDONED_AFTER_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** How often what has become too old is removed: sessions that end are counted at once. */
const ENFORCE_MS = 3_600_000;
const SOCKET = /^([0-9a-z]{26})\.sock$/;

export interface ArchiveParts {
	readonly places: Places;
	readonly options: Options;
	readonly slotOf: (record: SessionRecord, launch?: (slot: SessionSlot) => Promise<Session>) => SessionSlot;
	readonly onProblem: (problem: unknown, doing: string) => void;
}

export class Archive {
	readonly registry: Registry;
	readonly #parts: ArchiveParts;
	readonly #index: EndedIndex;
	readonly #quota: TotalQuota;
	#cleaning: Promise<void> = Promise.resolve();
	#timer: NodeJS.Timeout | undefined;

	private constructor(parts: ArchiveParts, index: EndedIndex) {
		this.#parts = parts;
		this.#index = index;
		const { slotOf } = parts;
		const { rememberEnded, totalBytes, keepDays } = parts.options;
		this.registry = new Registry({ index, rememberEnded, slotOf, read: (id) => this.#read(id) });
		this.#quota = new TotalQuota({
			index,
			maxBytes: totalBytes,
			maxAgeMs: keepDays * DAY_MS,
			endedAt: (id) =>
				lstat(this.#directoryOf(id)).then(
					({ mtimeMs }) => mtimeMs,
					() => null, // removed meanwhile
				),
			runningBytes: () => this.#runningBytes(),
			remove: (entry, because) => this.#removeOldest(entry, because),
		});
	}

	/** With slots for what may run and for the last that ended; all others are known to the index. */
	static async open(parts: ArchiveParts): Promise<Archive> {
		const { sessions, run } = parts.places;
		const ids = new Set(await sessionIds(sessions));
		const archive = new Archive(parts, await EndedIndex.load(sessions, ids));
		const names = await readdir(run).catch(() => []); // made by the first start
		const sockets = new Set(names.flatMap((name) => SOCKET.exec(name)?.[1] ?? []));
		await archive.#readRecords(ids, sockets);
		archive.#cleaning = archive.#cleaning.then(() => archive.#enforce());
		archive.#timer = setInterval(() => void archive.#enforce(), ENFORCE_MS).unref();
		return archive;
	}

	/** A session of which nothing runs any more. */
	async add(slot: SessionSlot): Promise<void> {
		const measured = this.#indexed(slot.record);
		this.registry.remember(slot);
		// A holder that was killed has left it.
		await rm(this.#parts.places.socketFor(slot.record.id), { force: true }).catch((error) =>
			this.#parts.onProblem(error, `removing the socket of ${slot.record.id}`),
		);
		await measured;
		await this.#enforce();
	}

	/** More was written for a session than it had when it ended. */
	remeasure(id: string): Promise<void> {
		return this.#index.update(id, () => directoryBytes(this.#directoryOf(id)));
	}

	/** Takes a session out, so that nothing knows of it; refused while anything of it may run. */
	async takeOut(slot: SessionSlot): Promise<void> {
		await slot.remove();
		this.registry.forget(slot.record.id);
	}

	/** Deletes the files of a session that was taken out. What cannot be deleted now is when the next daemon starts. */
	async deleteFiles({ id, name }: Pick<SessionRecord, "id" | "name">): Promise<void> {
		await deleteFiles(this.#directoryOf(id)).catch((error: Error) => {
			const facts = { id: name, sessionId: id, problem: error.message, isOut: true };
			throw new Fault("not_removed", facts, { cause: error });
		});
	}

	/** Both, for one whose record cannot be read and of which nothing can run any more. */
	async removeUnread(record: Pick<SessionRecord, "id" | "name">): Promise<void> {
		await takeOut(this.#directoryOf(record.id));
		this.registry.forget(record.id);
		await this.deleteFiles(record);
	}

	/** Tries again what could not be read; returns the slots of what may run. */
	async reread(): Promise<readonly SessionSlot[]> {
		const open: SessionSlot[] = [];
		for (const { id } of this.registry.unread()) {
			const found = (slot: SessionSlot | null) => {
				if (slot?.record.terminalOpen) open.push(slot);
				else if (slot !== null) this.#remember(slot);
			};
			await this.registry.useId(id, found).catch(() => {}); // still unread, and listed with the reason
		}
		return open;
	}

	/** First of all when the daemon stops: what is removed needs its slot. */
	async stopRemoving(): Promise<void> {
		clearInterval(this.#timer);
		await this.#quota.stop();
	}

	/** Settles when the index is on disk. */
	async [Symbol.asyncDispose](): Promise<void> {
		await this.#cleaning;
		await this.#index.settled();
	}

	/** `sockets`: of those a holder may live, whatever the index says. */
	async #readRecords(ids: ReadonlySet<string>, sockets: ReadonlySet<string>): Promise<void> {
		const { places, options, onProblem } = this.#parts;
		const recent = new Set(this.#index.newest(options.rememberEnded));
		const wanted = [...ids].filter((id) => !this.#index.has(id) || recent.has(id) || sockets.has(id));
		const records: SessionRecord[] = [];
		const absent: string[] = [];
		const read = async (id: string) => {
			const record = await findRecord(places, id);
			if (record === null) absent.push(id);
			else records.push(record);
		};
		const failed: string[] = [];
		const withoutDirectory = [...sockets].filter((id) => !ids.has(id));
		await inParallel(PARALLEL_READS, [...wanted, ...withoutDirectory], (id) => read(id).catch(() => failed.push(id)));
		// One after the other needs fewer descriptors.
		for (const id of failed) {
			await read(id).catch((error: unknown) => {
				if (error instanceof UnreadRecord) this.registry.addUnread(error.record);
				onProblem(error, `reading the record of ${id}`);
			});
		}
		for (const record of records.sort((a, b) => (a.resolvedAt ?? a.createdAt) - (b.resolvedAt ?? b.createdAt))) {
			if (record.terminalOpen) this.#index.delete(record.id);
			const slot = this.registry.add(record);
			if (!record.terminalOpen) this.#remember(slot);
		}
		this.#cleaning = this.#clean({ records, absent, sockets });
	}

	async #read(id: string): Promise<SessionRecord | null> {
		const record = await findRecord(this.#parts.places, id);
		// One that could not be read before.
		if (record?.terminalOpen === false) void this.#indexed(record);
		return record;
	}

	#remember(slot: SessionSlot): void {
		void this.#indexed(slot.record);
		this.registry.remember(slot);
	}

	/** Deletes what killed daemons left of themselves: nothing of a session that may run. */
	async #clean(found: {
		readonly records: readonly SessionRecord[];
		readonly absent: readonly string[];
		readonly sockets: ReadonlySet<string>;
	}): Promise<void> {
		const { places, onProblem } = this.#parts;
		const attempt = (doing: string, work: Promise<unknown>) => work.catch((error) => onProblem(error, doing));
		for (const { id, terminalOpen } of found.records) {
			await attempt(`cleaning ${id}`, deleteTemporaries(this.#directoryOf(id), { ended: !terminalOpen }));
		}
		for (const id of found.absent) await attempt(`removing ${id}`, this.#removeAbandoned(id));
		const over = [...found.absent, ...found.records.filter(({ terminalOpen }) => !terminalOpen).map(({ id }) => id)];
		// Nothing listens on it: its holder was killed.
		for (const id of over.filter((one) => found.sockets.has(one)))
			await attempt(`removing the socket of ${id}`, rm(places.socketFor(id), { force: true }));
		await attempt(
			"deleting what was removed",
			takenOut(places.sessions).then((all) => Promise.all(all.map(deleteFiles))),
		);
	}

	/** A start that was cut off before it was recorded. */
	async #removeAbandoned(id: string): Promise<void> {
		const directory = this.#directoryOf(id);
		const found = await lstat(directory).catch(() => null); // removed meanwhile, or only its socket was left
		if (!found?.isDirectory() || found.uid !== process.getuid?.()) return;
		if (found.mtimeMs > Date.now() - ABANDONED_AFTER_MS) return;
		await takeOut(directory);
		await deleteFiles(directory);
	}

	#enforce(): Promise<void> {
		return this.#quota.enforce().catch((error) => this.#parts.onProblem(error, "enforcing the total quota"));
	}

	#indexed(record: Pick<SessionRecord, "id" | "name" | "owner" | "resolvedAt">): Promise<void> {
		return this.#index.add({ ...record, endedAt: record.resolvedAt }, () =>
			directoryBytes(this.#directoryOf(record.id)),
		);
	}

	async #removeOldest(entry: EndedEntry, because: RemovedBecause): Promise<void> {
		const { id } = entry;
		try {
			await this.registry.useId(id, async (slot) => {
				await (slot?.remove() ?? takeOut(this.#directoryOf(id)));
				this.registry.forget(id);
			});
			await this.#index.noteRemoved(entry, because);
			await deleteFiles(this.#directoryOf(id));
		} catch (error) {
			// It may run, or cannot be read now: it stays.
			this.#parts.onProblem(error, `removing ${id}, which is too old or too much`);
		}
	}

	#runningBytes(): number {
		const most = this.#parts.options.quotaBytes || Number.POSITIVE_INFINITY;
		return this.registry.open().reduce((sum, { inMemory }) => {
			if (inMemory === null) return sum;
			return sum + Math.min(inMemory.journal.end, most) + inMemory.transcript.keptBytes + inMemory.turns.bytes;
		}, 0);
	}

	#directoryOf(id: string): string {
		return join(this.#parts.places.sessions, id);
	}
}
