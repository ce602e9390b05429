// Text for a model: only what a person could see.
//
// Escape and control characters could act on a terminal downstream, bidi controls
// and tag characters say one thing to the eye and another to a tokenizer. What was taken
// out is counted, so that nobody believes to have read everything.

/** Controls but newline and tab; format characters that reorder or hide; tags; noncharacters; lone surrogates. */
const UNSEEN =
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\u{e0000}-\u{e0fff}\p{Cs}]/gu;

/** Joiners and variation selectors are part of scripts and emoji, but one at a time: a row of them is a hidden message. */
const CARRIERS = /(?:\u200c|\u200d|\ufe00|[\ufe01-\ufe0f]){2,}/gu;

export interface Cleaned {
	readonly text: string;
	/** Characters that were taken out. */
	readonly removed: number;
}

export function clean(text: string): Cleaned {
	let removed = 0;
	const cleaned = text
		.replace(/\r\n/g, "\n")
		.replace(UNSEEN, () => {
			removed++;
			return "";
		})
		.replace(CARRIERS, (row) => {
			removed += row.length - 1;
			return row[0]!;
		});
	return { text: cleaned, removed };
}
