// Lines of all of the output that contain a text, newest first. The daemon searches.

import { useEffect, useState } from "preact/hooks";
import { daemon } from "../live/daemon-client.ts";
import type { SearchResult } from "../live/numbered-lines.ts";
import type { PersonSession } from "../live/person-session.ts";

const TYPING_MS = 200;

interface SearchParts {
	readonly session: PersonSession;
	readonly query: string;
	onLine(line: number): void;
	onClose(): void;
}

export function SearchOutput({ session, query, onLine, onClose }: SearchParts) {
	const [result, setResult] = useState<SearchResult | string | null>(null);
	useEffect(() => {
		const stop = new AbortController();
		const search = async () => {
			try {
				setResult(await daemon.search(session.session, query, stop.signal));
			} catch (error) {
				if (!stop.signal.aborted) setResult((error as Error).message);
			}
		};
		const timer = setTimeout(() => void search(), TYPING_MS);
		return () => {
			clearTimeout(timer);
			stop.abort();
		};
	}, [session.session, query]);
	return (
		<section class="search-results" aria-label="Search results">
			<div class="search-head">
				<span role="status">{summary(result)}</span>
				<button type="button" class="quiet" onClick={onClose}>
					Close
				</button>
			</div>
			{result !== null && typeof result !== "string" && (
				<ol>
					{result.found.toReversed().map(({ number, text }) => (
						<li key={number}>
							<button type="button" onClick={() => onLine(number)}>
								<span class="line-number">{number}</span>
								<span class="line-text">
									<Marked text={text} query={query} />
								</span>
							</button>
						</li>
					))}
				</ol>
			)}
		</section>
	);
}

function summary(result: SearchResult | string | null): string {
	if (result === null) return "Searching …";
	if (typeof result === "string") return result;
	if (result.count === 0) return "No line matches.";
	const lines = `${result.count} ${result.count === 1 ? "line matches" : "lines match"}`;
	return result.found.length < result.count ? `${lines}; the newest ${result.found.length}:` : `${lines}.`;
}

function Marked({ text, query }: { text: string; query: string }) {
	const at = text.indexOf(query);
	if (at < 0) return <>{text}</>;
	return (
		<>
			{text.slice(0, at)}
			<mark>{query}</mark>
			{text.slice(at + query.length)}
		</>
	);
}
