// One terminal, large: its header, what it needs, its screen or all of its output, and its timeline.

import { useEffect, useState } from "preact/hooks";
import { isOver, type PersonSession } from "../live/person-session.ts";
import { useStore } from "../live/store.ts";
import { useControl } from "../mission-control.ts";
import { drawnOnChange } from "./drawn-on-change.ts";
import { DriveBar } from "./drive-bar.tsx";
import { KeyBar } from "./key-bar-view.tsx";
import { NeedBox } from "./need-box.tsx";
import { OutputList } from "./output-list.tsx";
import { SearchOutput } from "./search-output.tsx";
import { SessionHeader } from "./session-header.tsx";
import { type Screens, shownOf, TerminalStage } from "./terminal-stage.tsx";
import { TimelineBar } from "./timeline-bar.tsx";

export type ShownPart = { readonly part: "screen" } | { readonly part: "output"; readonly line: number | null };

export const SessionPage = drawnOnChange(({ session }: { readonly session: PersonSession }) => {
	const control = useControl();
	const { atMs } = useStore(control.place);
	useStore(control.me);
	const [screens, setScreens] = useState<Screens | null>(null);
	const live = screens?.live ?? null;
	const [shown, setShown] = useState<ShownPart>({ part: "screen" });
	const [query, setQuery] = useState("");
	useEffect(() => {
		if (atMs !== null) setShown({ part: "screen" });
	}, [atMs]);
	return (
		<article class="session" aria-label={`Session ${session.name}`}>
			<SessionHeader
				session={session}
				atMs={atMs}
				shown={shown}
				onShow={setShown}
				search={<SearchField query={query} onQuery={setQuery} />}
			/>
			{live !== null && control.mayAct && !isOver(session) && <NeedBox session={session} live={live} />}
			<div class="session-main">
				<TerminalStage session={session} atMs={atMs} isHidden={shown.part !== "screen"} onScreens={setScreens} />
				{shown.part === "output" && <OutputList session={session} line={shown.line} />}
				{query.trim() !== "" && (
					<SearchOutput
						session={session}
						query={query}
						onLine={(line) => setShown({ part: "output", line })}
						onClose={() => setQuery("")}
					/>
				)}
			</div>
			{screens !== null && (
				<DriveBar session={session} live={screens.live} shown={shownOf(screens, atMs)} atMs={atMs} />
			)}
			{live !== null && <KeyBar live={live} />}
			<TimelineBar session={session} atMs={atMs} />
		</article>
	);
});

function SearchField({ query, onQuery }: { query: string; onQuery(query: string): void }) {
	return (
		<input
			type="search"
			class="search-field"
			placeholder="Search"
			aria-label="Search output"
			spellcheck={false}
			autocomplete="off"
			value={query}
			onInput={(event) => onQuery(event.currentTarget.value)}
			onKeyDown={(event) => event.key === "Escape" && onQuery("")}
		/>
	);
}
