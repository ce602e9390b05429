// The page: the list beside what is chosen from it, and what lies over both.

import { useEffect } from "preact/hooks";
import { useStore } from "../live/store.ts";
import { useControl } from "../mission-control.ts";
import { Approvals } from "./approvals.tsx";
import { FleetBanner } from "./machines.tsx";
import { Overview } from "./overview.tsx";
import { SessionPage } from "./session-page.tsx";
import { handleKey } from "./shortcuts.tsx";
import { Brand, Sidebar } from "./sidebar.tsx";

export function Page() {
	const control = useControl();
	const isSignedOut = useStore(control.isSignedOut);
	useEffect(() => {
		const onKey = (event: KeyboardEvent) => handleKey(control, event);
		window.addEventListener("keydown", onKey);
		return () => window.removeEventListener("keydown", onKey);
	}, [control]);
	if (isSignedOut) return <SignedOut />;
	return (
		<div class="page">
			<button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
				Skip to the terminal
			</button>
			<PhoneBar />
			<Sidebar />
			<main id="main" tabIndex={-1}>
				<ConnectionBanner />
				<FleetBanner now={control.watch.now()} />
				<Approvals />
				<Chosen />
			</main>
			<Dialogs />
			<Toast />
			<Announcements />
		</div>
	);
}

function Chosen() {
	const control = useControl();
	const { session: reference } = useStore(control.place);
	useStore(control.watch.sessions);
	const isLoaded = useStore(control.watch.isLoaded);
	const { selected } = control;
	if (reference === null) return <Overview />;
	if (selected !== undefined) return <SessionPage key={selected.session} session={selected} />;
	return isLoaded ? <NotFound reference={reference} /> : <p class="empty">Loading …</p>;
}

function NotFound({ reference }: { reference: string }) {
	const control = useControl();
	return (
		<div class="nothing">
			<h1>There is no session called “{reference}”</h1>
			<p>It may have been deleted, or belongs to another installation.</p>
			<button type="button" onClick={() => control.go(null)}>
				Overview
			</button>
		</div>
	);
}

function PhoneBar() {
	const control = useControl();
	useStore(control.watch.sessions);
	useStore(control.place);
	const isSheetOpen = useStore(control.isSheetOpen);
	const { needing, selected } = control;
	return (
		<header class="phone-bar">
			<button
				type="button"
				class="quiet"
				aria-expanded={isSheetOpen}
				onClick={() => control.isSheetOpen.set(!isSheetOpen)}
			>
				Sessions
				{needing.length > 0 && (
					<span class="count urgent">
						{needing.length}
						<span class="visually-hidden">{needing.length === 1 ? " needs you" : " need you"}</span>
					</span>
				)}
			</button>
			<h1 class="phone-title">{selected?.name ?? "Overview"}</h1>
			<button type="button" class="quiet brand" aria-label="Overview" onClick={() => control.go(null)}>
				<Brand />
			</button>
		</header>
	);
}

function ConnectionBanner() {
	const control = useControl();
	const connection = useStore(control.watch.connection);
	const isLoaded = useStore(control.watch.isLoaded);
	if (connection === "live" || (connection === "reconnecting" && !isLoaded)) return null;
	return (
		<p class="connection-banner" role="status" data-is={connection}>
			{connection === "offline" ? (
				<>
					Offline: the daemon does not run. Programs go on, but what you see is old. It starts with an agent’s next
					call, or with <code>dialtone web</code> in a terminal; this page then goes on by itself.
				</>
			) : (
				"Reconnecting to the daemon …"
			)}
		</p>
	);
}

function Dialogs() {
	return <>{useStore(useControl().dialog)}</>;
}

function Toast() {
	const text = useStore(useControl().toast);
	return text === null ? null : <p class="toast">{text}</p>;
}

/** Screen readers say what appears here. */
function Announcements() {
	return (
		<p class="visually-hidden" role="status" aria-live="polite">
			{useStore(useControl().announcement)}
		</p>
	);
}

function SignedOut() {
	if (useControl().me.value?.role === "view")
		return (
			<main class="nothing">
				<Brand />
				<h1>This shared link has ended</h1>
				<p>Ask who sent it to you for a new one.</p>
			</main>
		);
	return (
		<main class="nothing">
			<Brand />
			<h1>You are signed out</h1>
			<p>Run this in a terminal for a new link:</p>
			<pre>dialtone web</pre>
		</main>
	);
}
