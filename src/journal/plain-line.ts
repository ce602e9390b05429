// The last line of raw output as harmless text: for lists and records, where there
// is no emulator. It may be less than a person saw (cursor movement is not followed)
// but never contains an escape, a control or an invisible character.

type State = "text" | "escape" | "csi" | "string" | "stringEscape";

// Bidi controls reorder, tag characters and zero-width ones hide: none belongs in a label.
const INVISIBLE =
	/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** The last line that has anything on it, at most `maxChars` long. */
export function lastPlainLine(bytes: Uint8Array, maxChars = 200): string {
	const lines = withoutEscapes(new TextDecoder().decode(bytes)).split("\n");
	for (let i = lines.length - 1; i >= 0; i--) {
		// A carriage return restarts the line: what was printed last is what is visible.
		const shown = lines[i]!.split("\r").filter((part) => part.trim() !== "");
		const line = (shown.at(-1) ?? "").replace(INVISIBLE, "").trim();
		if (line !== "") return [...line].slice(0, maxChars).join("");
	}
	return "";
}

function withoutEscapes(text: string): string {
	let state: State = "text";
	let kept = "";
	for (const char of text) {
		const code = char.codePointAt(0)!;
		switch (state) {
			case "text":
				if (code === 0x1b) state = "escape";
				else if (code === 0x9b) state = "csi";
				else if (isStringOpener(code)) state = "string";
				else kept += char;
				break;
			case "escape":
				if (char === "[") state = "csi";
				else if ("]PX^_".includes(char)) state = "string";
				// Intermediates continue the sequence; anything else is the final byte.
				else if (code < 0x20 || code > 0x2f) state = "text";
				break;
			case "csi":
				if (code >= 0x40 && code <= 0x7e) state = "text";
				break;
			case "string":
				if (code === 0x1b) state = "stringEscape";
				else if (code === 0x07 || code === 0x9c) state = "text";
				break;
			case "stringEscape":
				state = char === "\\" ? "text" : "string";
				break;
		}
	}
	return kept;
}

/** The C1 forms of OSC, DCS, SOS, PM and APC. */
const isStringOpener = (code: number) =>
	code === 0x9d || code === 0x90 || code === 0x98 || code === 0x9e || code === 0x9f;
