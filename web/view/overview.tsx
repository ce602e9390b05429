// All open terminals at a glance: a grid of live thumbnails.

import type { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "preact/hooks";
import { daemon } from "../live/daemon-client.ts";
import { type Machine, machinesOf } from "../live/machines.ts";
import { byUrgency, isOver, type PersonSession, shownState } from "../live/person-session.ts";
import { useStore } from "../live/store.ts";
import { age } from "../live/timeline.ts";
import { useControl } from "../mission-control.ts";
import { paint } from "../terminal/cell-painter.ts";
import type { Grid } from "../terminal/fit.ts";
import { inertTerminal } from "../terminal/inert-terminal.ts";
import { Thumbnails } from "../terminal/thumbnails.ts";
import { drawnOnChange } from "./drawn-on-change.ts";
import { NewSessionDialog } from "./new-session-dialog.tsx";
import { Ports, SessionName } from "./session-entry.tsx";
import { StateBadge } from "./state-mark.tsx";
import { useNow } from "./use-now.ts";

const FETCH_MS = 5000;

export function Overview() {
	const control = useControl();
	useStore(control.watch.sessions);
	useStore(control.me);
	useStore(control.machine);
	const fleet = useStore(control.watch.fleet);
	const isLoaded = useStore(control.watch.isLoaded);
	const now = useNow(10_000);
	const [thumbnails, setThumbnails] = useState<Thumbnails | null>(null);
	useEffect(() => {
		const made = new Thumbnails({
			terminal: inertTerminal({ cols: 80, rows: 24 }, null, { scrollback: 0 }),
			// They are fetched one after the other: one whose machine does not answer must not hold up the rest.
			fetch: (id, signal) => daemon.snapshot(id, AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)])),
		});
		setThumbnails(made);
		return () => made.dispose();
	}, []);
	const open = control.listed.filter((session) => !isOver(session)).toSorted(byUrgency);
	for (const { session, offset } of open) thumbnails?.changed(session, offset);
	return (
		<div class="overview">
			<header class="bar">
				<h1>Overview</h1>
				<span class="summary">{summary(open, control.machine.value, machinesOf(fleet, []))}</span>
			</header>
			{thumbnails !== null && open.length > 0 && (
				<ul class="grid">
					{open.map((session) => (
						<Card key={session.session} session={session} thumbnails={thumbnails} age={age(now - session.updatedAt)} />
					))}
				</ul>
			)}
			{isLoaded && open.length === 0 && <Nothing machine={control.machine.value} />}
		</div>
	);
}

function summary(open: readonly PersonSession[], chosen: string | null, machines: readonly Machine[]): string {
	const lost = machines.filter((machine) => machine.lost !== null).length;
	const where = chosen === null ? machines.length > 1 && `${machines.length} machines` : `on ${chosen}`;
	if (open.length === 0) return "";
	const needing = open.filter(({ needs }) => needs !== null).length;
	const working = open.filter(({ state }) => state === "working" || state === "starting").length;
	return [
		`${open.length} open`,
		working > 0 && `${working} working`,
		needing > 0 && `${needing} ${needing === 1 ? "needs" : "need"} you`,
		where,
		chosen === null && lost > 0 && `${lost} unreachable`,
	]
		.filter(Boolean)
		.join(" · ");
}

interface CardParts extends ThumbnailParts {
	readonly age: string;
}

const Card = drawnOnChange(({ session, thumbnails, age }: CardParts) => {
	const control = useControl();
	return (
		<li class="card" data-shown={shownState(session)} data-needs={session.needs !== null}>
			<button type="button" class="card-open" onClick={() => control.go(session)} aria-label={`Open ${session.name}`}>
				<Thumbnail session={session} thumbnails={thumbnails} />
			</button>
			<div class="card-foot">
				<span class="card-name">
					<SessionName session={session} />
				</span>
				<span class="entry-age">{age}</span>
				<StateBadge session={session} />
				<span class="card-ports">
					<Ports session={session} />
				</span>
				{session.needs?.kind === "question" && (
					<span class="card-question" title={session.needs.question ?? undefined}>
						{session.needs.question}
					</span>
				)}
			</div>
		</li>
	);
});

interface ThumbnailParts {
	readonly session: PersonSession;
	readonly thumbnails: Thumbnails;
}

function Thumbnail({ session, thumbnails }: ThumbnailParts) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const offset = useRef(session.offset);
	offset.current = session.offset;
	useEffect(() => {
		const element = canvas.current!;
		let hide: (() => void) | null = null;
		const draw = (terminal: Terminal, grid: Grid) => drawIn(element, terminal, grid);
		const follow = (isVisible: boolean) => {
			if (isVisible === (hide !== null)) return;
			hide?.();
			hide = isVisible ? thumbnails.show(session.session, offset.current, draw) : null;
		};
		let isOnScreen = false;
		const update = () => follow(isOnScreen && document.visibilityState === "visible");
		const observer = new IntersectionObserver(([entry]) => {
			isOnScreen = entry?.isIntersecting === true;
			update();
		});
		observer.observe(element);
		document.addEventListener("visibilitychange", update);
		return () => {
			observer.disconnect();
			document.removeEventListener("visibilitychange", update);
			hide?.();
		};
	}, [session.session, thumbnails]);
	return <canvas ref={canvas} class="thumbnail" />;
}

function drawIn(canvas: HTMLCanvasElement, terminal: Terminal, grid: Grid): void {
	const { clientWidth, clientHeight } = canvas;
	const scale = Math.min(2, window.devicePixelRatio || 1);
	const [width, height] = [Math.round(clientWidth * scale), Math.round(clientHeight * scale)];
	if (width === 0 || height === 0) return;
	// Setting a size clears it, even to the same.
	if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
	const context = canvas.getContext("2d");
	if (context !== null) paint(context, terminal.buffer.active, grid);
}

function Nothing({ machine }: { machine: string | null }) {
	const control = useControl();
	if (machine !== null)
		return (
			<div class="nothing">
				<h2>No terminal is open on {machine}</h2>
				<button type="button" onClick={() => control.machine.set(null)}>
					All machines
				</button>
			</div>
		);
	return (
		<div class="nothing">
			<h2>No terminal is open</h2>
			<p>Terminals appear here as soon as an agent starts one. Give an agent Dialtone with:</p>
			<pre>dialtone mcp --help</pre>
			{control.mayAct && (
				<button type="button" onClick={() => control.dialog.set(<NewSessionDialog />)}>
					New terminal
				</button>
			)}
		</div>
	);
}
