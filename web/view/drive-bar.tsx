// Who drives, and taking over and handing back.

import { useEffect, useState } from "preact/hooks";
import { isOver, type PersonSession } from "../live/person-session.ts";
import { useStore } from "../live/store.ts";
import { clock } from "../live/timeline.ts";
import { useControl } from "../mission-control.ts";
import type { ShownScreen } from "../terminal/inert-terminal.ts";
import type { LiveTerminal } from "../terminal/live-terminal.ts";
import { copyText } from "./session-actions.tsx";

interface DriveParts {
	readonly session: PersonSession;
	readonly live: LiveTerminal;
	/** What the pane shows: the live terminal, or a moment. */
	readonly shown: ShownScreen;
	readonly atMs: number | null;
}

export function DriveBar({ session, live, shown, atMs }: DriveParts) {
	const control = useControl();
	const status = useStore(live.status);
	const showsAll = useStore(control.showsAll);
	useStore(control.watch.fleet);
	const lost = control.lostWords(session);
	useDriven(session.session, status.isMine);
	useEffect(() => {
		if (!status.isLive || control.toDrive !== session.session) return;
		control.toDrive = null;
		if (!status.isEnded && !isOver(session)) live.takeOver();
	}, [control, session, live, status]);
	const copy = () => void copyText(control, shown.selection() || shown.screenText(), "Copied as text.");
	return (
		<div class="drive-bar" data-mine={status.isMine}>
			<span class="drive-who">{atMs === null ? whoDrives(session, status, lost) : `You look at ${clock(atMs)}.`}</span>
			{status.takenBy !== null && (
				<span class="drive-taken" role="alert">
					{status.takenBy} took over: what you type does not reach the program.
				</span>
			)}
			{!status.isLive && lost === null && <span class="drive-warning">Reconnecting …</span>}
			{status.refused !== null && lost === null && (
				<span class="drive-warning" role="alert">
					{status.refused}
				</span>
			)}
			<span class="drive-size">{atMs === null && `${status.size.cols} × ${status.size.rows}`}</span>
			{!status.isMine && !status.isReadable && (
				<button
					type="button"
					class="quiet"
					title={
						showsAll ? "Letters that can be read; scroll to see the rest" : "The whole screen at once, in small letters"
					}
					onClick={() => control.showsAll.set(!showsAll)}
				>
					{showsAll ? "Readable" : "Fit"}
				</button>
			)}
			<button type="button" class="quiet copy" onClick={copy}>
				Copy text
			</button>
			{!isOver(session) && control.mayAct && !status.isMine && (
				<button
					type="button"
					class="primary"
					disabled={lost !== null}
					title={lost ?? undefined}
					onClick={() => {
						if (atMs !== null) control.goToMoment(session, null);
						live.takeOver();
					}}
				>
					Take over
				</button>
			)}
			{status.isMine && <HandBack live={live} />}
		</div>
	);
}

/** Tells the rest of the page which session it drives. */
function useDriven(id: string, isMine: boolean): void {
	const { driven } = useControl();
	useEffect(() => {
		driven.set(isMine ? id : null);
		return () => driven.set(null);
	}, [driven, id, isMine]);
}

function whoDrives(session: PersonSession, status: LiveTerminal["status"]["value"], lost: string | null): string {
	const { driver, isMine, isEnded, isLive } = status;
	if (isEnded || isOver(session)) return "Ended. Nothing can be typed.";
	if (lost !== null) return `${lost}. The program may still be running.${isMine ? " What you type is lost." : ""}`;
	// Nothing is kept for later: it would come at a screen that the person has not seen.
	if (isMine) return isLive ? "You drive: what you type goes to the program." : "You drive, but what you type is lost.";
	if (driver.kind === "person") return `${driver.who} drives. You watch.`;
	return session.mine ? "Nobody drives. You watch." : "The agent drives. You watch.";
}

function HandBack({ live }: { live: LiveTerminal }) {
	const [note, setNote] = useState("");
	const handBack = () => {
		live.handBack(note.trim());
		setNote("");
	};
	return (
		<form
			class="hand-back"
			onSubmit={(event) => {
				event.preventDefault();
				handBack();
			}}
		>
			<input
				aria-label="Note for the agent"
				placeholder="Note for the agent (optional)"
				maxLength={500}
				autocomplete="off"
				value={note}
				onInput={(event) => setNote(event.currentTarget.value)}
			/>
			<button type="submit" class="primary">
				Hand back
			</button>
		</form>
	);
}
