// What a holder reads from its standard input: docs/holder.md, "Launch".

import { PROTOCOL_VERSION } from "../protocol/frames.ts";
import { knownSpellings } from "../protocol/masking.ts";
import { PtyCreationError } from "./errors.ts";
import { maskRecords } from "./mask-records.ts";
import type { ResourceLimits } from "./resource-limits.ts";

const Tag = {
	end: 0,
	protocol: 1,
	directory: 2,
	socket: 3,
	arg: 4,
	env: 5,
	cwd: 6,
	size: 7,
	limit: 8,
	identity: 9,
	quota: 10,
	segment: 11,
	program: 12,
	flags: 13,
	wall: 14,
	umask: 15,
	rlimit: 16,
	nice: 17,
	secret: 18,
	mask: 19,
} as const;

/** R2.10. Processor time, memory, processes and output are those of the session; the others of each process or file. */
export interface Limits {
	readonly cpuSeconds?: number | undefined;
	readonly memoryBytes?: number | undefined;
	readonly processes?: number | undefined;
	readonly openFiles?: number | undefined;
	readonly fileBytes?: number | undefined;
	readonly coreBytes?: number | undefined;
	readonly wallMs?: number | undefined;
	/** Sustained: what comes faster waits in the terminal, and the program with it. */
	readonly outputBytesPerSecond?: number | undefined;
}

const LIMITS: readonly (readonly [Exclude<keyof Limits, "wallMs">, number])[] = [
	["cpuSeconds", 0],
	["memoryBytes", 1],
	["processes", 2],
	["openFiles", 3],
	["fileBytes", 4],
	["coreBytes", 5],
	["outputBytesPerSecond", 6],
];

const NO_CONTROLLING_TERMINAL = 1;
const ENDS_WITH_OWNER = 2;
const REPORTS_LAUNCH = 4;

const UNLIMITED = 2n ** 64n - 1n;
/** Nice values go from -20 to 19. */
const NICE_OFFSET = 20;

export interface LaunchSpec {
	/** The session's directory: absolute, made by the caller, 0700. */
	readonly directory: string;
	readonly socketPath: string;
	readonly argv: readonly string[];
	/** Executed instead of looking up `argv[0]` in the PATH of `env`. */
	readonly program?: string;
	/** The whole environment: nothing is inherited. */
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
	readonly cols: number;
	readonly rows: number;
	readonly limits?: Limits;
	/** What the program inherits from its caller; without them, from this process. */
	readonly umask?: number;
	readonly nice?: number;
	readonly rlimits?: ResourceLimits;
	readonly uid?: number;
	readonly gid?: number;
	readonly quotaBytes?: number;
	readonly segmentBytes?: number;
	/** The PTY is stdio but not the controlling terminal: for sandboxes that set it themselves. */
	readonly noControllingTerminal?: boolean;
	/** The program tells itself whether it could start what it runs: for sandboxes too. */
	readonly reportsLaunch?: boolean;
	/** The session ends when no process of its owner is connected any more: for one that nobody could find again. */
	readonly endsWithOwner?: boolean;
	/** Another holder than the one that was built with us, for tests. */
	readonly holder?: string;
	/** Our epoch: a higher one takes over from a lower one. */
	readonly epoch: bigint;
}

/** `secret` is what the holder asks of its clients from then on. */
export function launchBlock(spec: LaunchSpec, secret: Uint8Array): Buffer {
	const { limits = {}, rlimits = [] } = spec;
	const flags =
		(spec.noControllingTerminal ? NO_CONTROLLING_TERMINAL : 0) |
		(spec.endsWithOwner ? ENDS_WITH_OWNER : 0) |
		(spec.reportsLaunch ? REPORTS_LAUNCH : 0);
	return Buffer.concat([
		record(Tag.protocol, u32(PROTOCOL_VERSION)),
		record(Tag.directory, text(spec.directory)),
		record(Tag.socket, text(spec.socketPath)),
		...spec.argv.map((arg) => record(Tag.arg, text(arg))),
		...Object.entries(spec.env).map(([name, value]) => record(Tag.env, text(`${name}=${value}`))),
		record(Tag.cwd, text(spec.cwd)),
		record(Tag.size, u16(spec.cols, spec.rows, 0, 0)),
		...LIMITS.flatMap(([name, which]) =>
			limits[name] === undefined ? [] : [record(Tag.limit, u32(which, 0), u64(limits[name]))],
		),
		...(spec.uid === undefined && spec.gid === undefined
			? []
			: [record(Tag.identity, u32(spec.uid ?? process.getuid?.() ?? 0, spec.gid ?? process.getgid?.() ?? 0))]),
		...optional(Tag.quota, spec.quotaBytes),
		...optional(Tag.segment, spec.segmentBytes),
		...(spec.program === undefined ? [] : [record(Tag.program, text(spec.program))]),
		...(flags === 0 ? [] : [record(Tag.flags, u32(flags))]),
		...optional(Tag.wall, limits.wallMs),
		...(spec.umask === undefined ? [] : [record(Tag.umask, u32(spec.umask))]),
		...rlimits.map(([soft, hard], which) => record(Tag.rlimit, u32(which, 0), u64(soft), u64(hard))),
		...(spec.nice === undefined ? [] : [record(Tag.nice, u32(spec.nice + NICE_OFFSET))]),
		record(Tag.secret, secret),
		...(knownSpellings().length === 0 ? [] : [record(Tag.mask, maskRecords(knownSpellings()))]),
		record(Tag.end),
	]);
}

function record(tag: number, ...value: readonly Uint8Array[]): Buffer {
	const header = Buffer.alloc(8);
	header.writeUInt16LE(tag, 0);
	header.writeUInt32LE(
		value.reduce((sum, part) => sum + part.length, 0),
		4,
	);
	return Buffer.concat([header, ...value]);
}

const optional = (tag: number, value: number | undefined) => (value === undefined ? [] : [record(tag, u64(value))]);

function text(value: string): Buffer {
	// An argument cannot hold a NUL; truncating there would run something else.
	if (value.includes("\0"))
		throw new PtyCreationError({
			stage: "block",
			code: "EINVAL",
			message: `a NUL in ${JSON.stringify(value.slice(0, 80))}`,
		});
	return Buffer.from(value);
}

function u16(...values: readonly number[]): Buffer {
	const bytes = Buffer.alloc(values.length * 2);
	for (const [i, value] of values.entries()) bytes.writeUInt16LE(value, i * 2);
	return bytes;
}

function u32(...values: readonly number[]): Buffer {
	const bytes = Buffer.alloc(values.length * 4);
	for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, i * 4);
	return bytes;
}

/** Null: no limit. */
function u64(value: number | null): Buffer {
	const bytes = Buffer.alloc(8);
	bytes.writeBigUInt64LE(value === null ? UNLIMITED : BigInt(Math.trunc(value)));
	return bytes;
}
