// The audit log, read from its files: as a table, as JSON lines, live; and its check.

import { watch } from "node:fs";
import { join } from "node:path";
import { AUDIT_DIRECTORY, type AuditLine, auditLines, verify } from "../journal/audit-chain.ts";
import { oneLine } from "../protocol/clean.ts";
import { onAbort, type Subscribe, until } from "../pty/wait.ts";
import { matchesGlob } from "../session/policy.ts";
import type { Invocation } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput, type Flags, KINDS } from "./flags.ts";
import { abortedByReader, drained } from "./stream-commands.ts";
import { fitted, table } from "./table.ts";

export async function audit({ flags, json, io, dependencies }: Invocation): Promise<number> {
	await dependencies.refuseConfined();
	const directory = join(dependencies.stateDir, AUDIT_DIRECTORY);
	if (flags.on("verify")) return verified(directory, json, io.out);
	const isWanted = filterOf(flags);
	const reader = abortedByReader(io);
	const wide = io.stdout.isTTY ? fitted(io.stdout.columns) : undefined;
	let last = 0;
	const show = async () => {
		const lines = [...auditLines(directory)].filter(({ n }) => n > last);
		last = lines.at(-1)?.n ?? last;
		const wanted = lines.filter(isWanted);
		if (json) for (const line of wanted) io.out(`${JSON.stringify(line)}\n`);
		else if (wanted.length > 0) io.out(table(wanted.map(row), wide));
		await drained(io, reader.signal);
		return wanted.length;
	};
	const shown = await show();
	if (!flags.on("follow")) {
		if (shown === 0 && !json) io.err("Nothing is in the audit log that you asked for.\n");
		return EXIT.ok;
	}
	let changed = false;
	const onChange: Subscribe = (listener) => {
		const watcher = watch(directory, () => {
			changed = true;
			listener();
		});
		return () => watcher.close();
	};
	while (!reader.signal.aborted) {
		await until(() => changed || reader.signal.aborted, onAbort(reader.signal), onChange);
		changed = false;
		await show();
	}
	return EXIT.ok;
}

function verified(directory: string, json: boolean, out: (text: string) => void): number {
	const found = verify(directory);
	const { lines, files, torn, lost, broken } = found;
	const notes = [
		torn > 0 && `${torn} cut short when the daemon was killed`,
		lost > 0 && `${lost} could not be written`,
	].filter((note) => note !== false);
	const place = files === 1 ? "1 file" : `${files} files`;
	const whole = lines === 1 ? `1 line in ${place} is as it was` : `${lines} lines in ${place} are as they were`;
	const sound = `${whole} written${notes.map((note) => `; ${note}`).join("")}.`;
	if (json) out(`${JSON.stringify({ ok: broken === null, ...found })}\n`);
	else if (broken === null) out(`${sound}\n`);
	else {
		const where = broken.beginning ? "From there on" : "Before that";
		const rest = lines === 0 ? "" : ` ${where}: ${sound}`;
		out(`Broken at ${broken.file}, line ${broken.line}: ${broken.problem}.${rest}\n`);
	}
	return broken === null ? EXIT.ok : EXIT.fault;
}

function filterOf(flags: Flags): (line: AuditLine) => boolean {
	const [since, owner, session] = ["since", "owner", "session"].map((name) => flags.get(name) as string | undefined);
	const from = since === undefined ? 0 : timeOf(since);
	return (line) =>
		Date.parse(line.at) >= from &&
		(owner === undefined || matchesGlob(owner, String(line.owner ?? ""))) &&
		(session === undefined || line.session === session || line.name === session);
}

function timeOf(text: string): number {
	const ago = KINDS.duration.read(text);
	const at = ago === undefined ? Date.parse(text) : Date.now() - ago;
	if (Number.isNaN(at)) throw badInput("--since takes a time such as 30m or 2h, or a date such as 2026-01-31T12:00");
	return at;
}

const MAX_CHARS = 1000;

/** Cleaned once more: the file may have been written by anybody. */
function row({ n: _, at, do: what, prev: __, owner = "", session = "", name, ...rest }: AuditLine): readonly string[] {
	const values = Object.entries(rest).map(
		([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
	);
	return [at, owner, what, name ?? session, values.join(" ")].map((cell) => oneLine(String(cell), MAX_CHARS));
}
