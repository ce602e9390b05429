// Links in output lead only where a person has seen that they lead: a program chooses
// the text of a link apart from its target.

const MAX_URL_CHARS = 4096;

/** The address as a browser will take it; null for everything but http and https. */
export function safeTarget(text: string): URL | null {
	if (text.length > MAX_URL_CHARS || !URL.canParse(text)) return null;
	const url = new URL(text);
	return url.protocol === "http:" || url.protocol === "https:" ? url : null;
}

export function openTarget(url: URL): void {
	window.open(url.href, "_blank", "noopener,noreferrer");
}
