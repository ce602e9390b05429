// What the notices of a list say of one other machine's sessions.

export interface Noticed {
	/** They are listed as they were then, ms since 1970; null: as they are. */
	readonly asOf: number | null;
	/** They may be missing. */
	readonly mayLack: boolean;
	/** Those that say it. */
	readonly notices: readonly string[];
}

/** Of all other machines. */
const STALE =
	/^the fleet's servers (?:are not reached|say nothing) since (\S+): other hosts are listed as they were then$/;
/** Of those that it names. */
const UNHEARD = /^not heard of since (\S+), and listed as they were then: the sessions of (.+)$/;
const LACKING: readonly RegExp[] = [
	/^not connected to the fleet since \S+ \(.*\): sessions of other hosts are not listed$/,
	/^the sessions of other hosts are still being read: list again for all$/,
];

export function noticedOf(host: string, notices: readonly string[]): Noticed {
	const times: number[] = [];
	const about = notices.filter((notice) => {
		const unheard = UNHEARD.exec(notice);
		const stale = STALE.exec(notice) ?? (unheard?.[2]?.split(", ").includes(host) ? unheard : null);
		if (stale !== null) times.push(Date.parse(stale[1]!));
		return stale !== null || LACKING.some((pattern) => pattern.test(notice));
	});
	return {
		asOf: times.length === 0 ? null : Math.min(...times),
		mayLack: about.some((notice) => LACKING.some((pattern) => pattern.test(notice))),
		notices: about,
	};
}
