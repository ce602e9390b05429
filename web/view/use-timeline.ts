// A session's timeline, fetched again while it grows.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Timeline } from "../../src/protocol/timeline.ts";
import { daemon } from "../live/daemon-client.ts";
import { isOver, type PersonSession } from "../live/person-session.ts";

const AGAIN_MS = 5_000;

export function useTimeline(session: PersonSession): Timeline | null {
	const [timeline, setTimeline] = useState<Timeline | null>(null);
	const newest = useRef("");
	const seen = useRef("");
	newest.current = `${session.offset} ${session.state} ${session.driver.kind}`;
	const isEnded = isOver(session);
	useEffect(() => {
		const stop = new AbortController();
		const load = async () => {
			if (seen.current === newest.current || document.visibilityState === "hidden") return;
			const wanted = newest.current;
			try {
				setTimeline(await daemon.timeline(session.session, stop.signal));
				seen.current = wanted;
			} catch {
				// Not there yet, or the daemon restarts: asked again soon.
			}
		};
		seen.current = "";
		void load();
		const timer = setInterval(() => void load(), AGAIN_MS);
		return () => {
			stop.abort();
			clearInterval(timer);
		};
	}, [session.session, isEnded]);
	return timeline;
}
