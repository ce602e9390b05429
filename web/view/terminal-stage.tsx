// The pane in which a terminal is shown: the live one, and over it the screen of a moment while one is asked for.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PersonSession } from "../live/person-session.ts";
import { useStore } from "../live/store.ts";
import { clock } from "../live/timeline.ts";
import { useControl } from "../mission-control.ts";
import type { Box } from "../terminal/fit.ts";
import type { ShownScreen, TerminalActions } from "../terminal/inert-terminal.ts";
import { openTarget, safeTarget } from "../terminal/links.ts";
import { LiveTerminal } from "../terminal/live-terminal.ts";
import { Moments, type ShownMoment } from "../terminal/moments.ts";
import { AskDialog } from "./dialog.tsx";
import { copyText } from "./session-actions.tsx";

interface StageParts {
	readonly session: PersonSession;
	readonly atMs: number | null;
	readonly isHidden: boolean;
	onScreens(screens: Screens | null): void;
}

/** The two that lie over each other in the pane. */
export interface Screens {
	readonly live: LiveTerminal;
	readonly past: Moments;
}

/** The one of them that a person sees. */
export const shownOf = ({ live, past }: Screens, atMs: number | null): ShownScreen => (atMs === null ? live : past);

/** What tests and a person's scripts read from the open terminal. */
interface TerminalElement extends HTMLDivElement {
	screenText(): string;
}

/** Around the letters: as in style/session.css. */
const PADDING_PX = 22;
const NARROW_PADDING_PX = 8;
const NARROW_PX = 760;

export function TerminalStage({ session, atMs, isHidden, onScreens }: StageParts) {
	const control = useControl();
	const { session: id } = session;
	const stage = useRef<HTMLDivElement>(null);
	const liveHost = useRef<HTMLDivElement>(null);
	const momentHost = useRef<HTMLDivElement>(null);
	const [screens, setScreens] = useState<Screens | null>(null);
	const [target, setTarget] = useState<string | null>(null);
	const [moment, setMoment] = useState<ShownMoment | null>(null);

	useEffect(() => {
		const actions: TerminalActions = {
			copy: (text) => void copyText(control, text, "Copied."),
			show: setTarget,
			open: (text) => {
				const url = safeTarget(text);
				if (url !== null) control.dialog.set(<OpenLink url={url} />);
				else control.say("Only http and https links can be opened.");
			},
		};
		const scheme = location.protocol === "https:" ? "wss" : "ws";
		const address = `${scheme}://${location.host}/v1/sessions/${encodeURIComponent(id)}/terminal`;
		const made = new LiveTerminal(liveHost.current!, () => new WebSocket(address), actions);
		const past = new Moments(id, momentHost.current!, actions, setMoment);
		const pane = stage.current!;
		const layOut = () => {
			const box = { ...boxWithin(pane), showsAll: control.showsAll.value };
			made.layOut(box);
			past.layOut(box);
		};
		const { connection } = control.watch;
		const unlisten = connection.onChange(() => {
			if (connection.value === "live") made.retryNow();
		});
		const unfollow = control.showsAll.onChange(layOut);
		const observer = new ResizeObserver(layOut);
		observer.observe(pane);
		layOut();
		const both = { live: made, past };
		setScreens(both);
		onScreens(both);
		return () => {
			onScreens(null);
			unlisten();
			unfollow();
			observer.disconnect();
			made.dispose();
			past.dispose();
		};
	}, [id, control, onScreens]);

	useEffect(() => screens?.past.want(atMs), [atMs, screens]);

	useStore(control.watch.fleet);
	const isLost = control.lostWords(session) !== null;
	useEffect(() => {
		if (!isLost) screens?.live.retryNow();
	}, [isLost, screens]);

	// Before anybody can find the element.
	useLayoutEffect(() => {
		const element = stage.current as TerminalElement;
		element.screenText = () => (screens === null ? "" : shownOf(screens, atMs).screenText());
	}, [atMs, screens]);

	return (
		<div
			ref={stage}
			class="stage"
			data-terminal={session.name}
			data-lost={isLost}
			data-shows={atMs === null ? "live" : "moment"}
			data-moment={atMs !== null && moment?.problem === null ? moment.atMs : undefined}
			hidden={isHidden}
		>
			<div ref={liveHost} class="terminal-host" data-is="live" />
			<div ref={momentHost} class="terminal-host" data-is="moment" />
			{screens !== null && (
				<Mirror
					screen={shownOf(screens, atMs)}
					label={`Screen of ${session.name}${atMs === null ? "" : ` at ${clock(atMs)}`}`}
				/>
			)}
			{target !== null && <p class="link-target">{target}</p>}
			{atMs !== null && moment !== null && moment.problem !== null && <p class="stage-note">{moment.problem}</p>}
		</div>
	);
}

function boxWithin({ clientWidth, clientHeight }: HTMLElement): Box {
	const padding = window.innerWidth <= NARROW_PX ? NARROW_PADDING_PX : PADDING_PX;
	return { width: clientWidth - 2 * padding, height: clientHeight - 2 * padding };
}

/** The screen as text for screen readers: xterm.js draws rows that they cannot read. */
function Mirror({ screen, label }: { screen: ShownScreen; label: string }) {
	const text = useStore(screen.mirror);
	return (
		<section class="visually-hidden" aria-label={label}>
			<pre>{text}</pre>
		</section>
	);
}

function OpenLink({ url }: { url: URL }) {
	return (
		<AskDialog title={`Open a page of ${url.host}?`} action="Open" run={() => openTarget(url)}>
			<p>A program printed this link. It leads to:</p>
			<pre>{url.href}</pre>
		</AskDialog>
	);
}
