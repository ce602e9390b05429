// The time, for ages that grow while one looks at them.

import { useEffect, useState } from "preact/hooks";
import { useStore } from "../live/store.ts";
import { useControl } from "../mission-control.ts";

/** The time of the last tick: between two ticks a drawing for another reason makes nothing older. */
export function useNow(everyMs: number): number {
	const { watch } = useControl();
	// The first list says what the daemon's clock shows.
	const isLoaded = useStore(watch.isLoaded);
	const [now, setNow] = useState(watch.now());
	useEffect(() => {
		const tick = () => setNow(watch.now());
		tick();
		const timer = setInterval(tick, everyMs);
		return () => clearInterval(timer);
	}, [watch, everyMs, isLoaded]);
	return now;
}
