// What the address after `#` says: a session, and a moment of it. `#build@83.25` is 83.25 seconds after its start.

export interface Place {
	/** A session's name or id; null: the overview. */
	readonly session: string | null;
	/** Milliseconds since its start; null: live. */
	readonly atMs: number | null;
}

const TIME = /^(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d{1,3})?)$/;

export function placeOf(hash: string): Place {
	let text = hash.replace(/^#/, "");
	try {
		text = decodeURIComponent(text);
	} catch {
		// Not encoded by us: taken as it stands.
	}
	if (text === "") return { session: null, atMs: null };
	const at = text.lastIndexOf("@");
	const time = at > 0 ? TIME.exec(text.slice(at + 1)) : null;
	if (time === null) return { session: text, atMs: null };
	const [, hours = "0", minutes = "0", seconds = "0"] = time;
	return {
		session: text.slice(0, at),
		atMs: Math.round((Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000),
	};
}

export function hashOf({ session, atMs }: Place): string {
	if (session === null) return "";
	return `#${encodeURIComponent(session)}${atMs === null ? "" : `@${Math.round(atMs) / 1000}`}`;
}
