// The list of all terminals: those that need a person on top, then each conversation's, then what has ended.

import { useState } from "preact/hooks";
import { grouped, isOver, matchesFilter, newestFirst, type PersonSession } from "../live/person-session.ts";
import { useStore } from "../live/store.ts";
import { age } from "../live/timeline.ts";
import { useControl } from "../mission-control.ts";
import { Machines } from "./machines.tsx";
import { NewSessionDialog } from "./new-session-dialog.tsx";
import { NeedEntry, SessionEntry } from "./session-entry.tsx";
import { useNow } from "./use-now.ts";

/** Ended sessions that are listed before one asks for more. */
const ENDED_SHOWN = 30;

export function Sidebar() {
	const control = useControl();
	useStore(control.watch.sessions);
	useStore(control.place);
	useStore(control.me);
	const driven = useStore(control.driven);
	const isLoaded = useStore(control.watch.isLoaded);
	const isSheetOpen = useStore(control.isSheetOpen);
	const now = useNow(10_000);
	const [filter, setFilter] = useState("");
	useStore(control.machine);
	const shown = control.listed.filter((session) => matchesFilter(session, filter));
	const open = grouped(shown.filter((session) => !isOver(session)));
	const ended = shown.filter(isOver).toSorted(newestFirst);
	const { needing, selected } = control;
	const entry = (session: PersonSession) => (
		<SessionEntry
			key={session.session}
			session={session}
			age={age(now - session.updatedAt)}
			isSelected={session.session === selected?.session}
			isDriven={session.session === driven}
		/>
	);
	return (
		<nav class="sidebar" aria-label="Sessions" data-open={isSheetOpen}>
			<div class="sidebar-head">
				<button type="button" class="quiet brand" title="Overview" onClick={() => control.go(null)}>
					<Brand />
					Dialtone
				</button>
				<button type="button" class="quiet sheet-close" onClick={() => control.isSheetOpen.set(false)}>
					Close
				</button>
				{control.mayAct && (
					<button type="button" class="small" onClick={() => control.dialog.set(<NewSessionDialog />)}>
						New
					</button>
				)}
			</div>
			<div class="sidebar-filter">
				<input
					type="search"
					id="session-filter"
					placeholder="Filter"
					aria-label="Filter sessions"
					value={filter}
					onInput={(event) => setFilter(event.currentTarget.value)}
				/>
			</div>
			<Machines now={now} />
			<div class="sidebar-list">
				{needing.length > 0 && (
					<section class="needs" aria-labelledby="needs-title">
						<h2 id="needs-title">
							Needs you <span class="count">{needing.length}</span>
						</h2>
						<ul>
							{needing.map((session) => (
								<NeedEntry key={session.session} session={session} age={age(now - session.needs!.since)} />
							))}
						</ul>
					</section>
				)}
				{open.map(({ key, parent, title, sessions }) => (
					<section key={key} aria-label={title}>
						{(open.length > 1 || parent !== null) && (
							<h2 class="parent" title={title}>
								<span>{title}</span> <span class="count">{sessions.length}</span>
							</h2>
						)}
						<ul>{sessions.map(entry)}</ul>
					</section>
				))}
				{isLoaded && open.length === 0 && (
					<p class="empty">
						{filter === "" && control.machine.value === null ? "No terminal is open." : "No open terminal matches."}
					</p>
				)}
				{ended.length > 0 && (
					<details
						class="ended"
						open={(selected !== undefined && isOver(selected)) || (filter !== "" && open.length === 0)}
					>
						<summary>
							Ended <span class="count">{ended.length}</span>
						</summary>
						<ul>{ended.slice(0, ENDED_SHOWN).map(entry)}</ul>
						{ended.length > ENDED_SHOWN && <p class="empty">{ended.length - ENDED_SHOWN} older: use the filter.</p>}
					</details>
				)}
			</div>
			<SidebarFoot />
		</nav>
	);
}

function SidebarFoot() {
	const control = useControl();
	const connection = useStore(control.watch.connection);
	const [permission, setPermission] = useState("Notification" in window ? Notification.permission : "denied");
	return (
		<div class="sidebar-foot">
			<span class="connection" data-is={connection}>
				{connection}
			</span>
			{permission === "default" && (
				<button
					type="button"
					class="quiet"
					onClick={async () => setPermission(await Notification.requestPermission())}
					title="Shows a notification when a session needs you and you look elsewhere"
				>
					Notify me
				</button>
			)}
			<span class="hint">
				<kbd>?</kbd> keys
			</span>
		</div>
	);
}

export function Brand() {
	return (
		<svg viewBox="0 0 32 32" class="brand-mark" aria-hidden="true">
			<path d="M6 9l7 7-7 7" class="line" />
			<path d="M16 23h10" class="line soft" />
		</svg>
	);
}
