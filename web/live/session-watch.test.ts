import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Backoff } from "./backoff.ts";
import { sampleSession } from "./sample-session.ts";
import { type EventStream, SessionWatch } from "./session-watch.ts";

class FakeEventSource implements EventStream {
	readonly #listeners = new Map<string, (event: { data?: unknown }) => void>();
	isClosed = false;

	addEventListener(type: string, listener: (event: { data?: unknown }) => void): void {
		this.#listeners.set(type, listener);
	}

	close(): void {
		this.isClosed = true;
	}

	happen(type: string, data?: object): void {
		this.#listeners.get(type)?.({ data: JSON.stringify(data) });
	}

	list(full: boolean, names: readonly string[], removed: readonly string[] = []): void {
		const sessions = names.map((name) => sampleSession({ session: name, name }));
		this.happen("sessions", { full, now: Date.now(), sessions, removed });
	}
}

const streams: FakeEventSource[] = [];
let watch: SessionWatch;

beforeEach(() => {
	vi.useFakeTimers();
	streams.length = 0;
	watch = new SessionWatch({
		open: () => {
			const stream = new FakeEventSource();
			streams.push(stream);
			return stream;
		},
		backoff: new Backoff(() => 1),
	});
	watch.connect();
});

afterEach(() => {
	watch.close();
	vi.useRealTimers();
});

const names = () => [...watch.sessions.value.keys()];

test("the first list is all, then only what changed", () => {
	streams[0]!.list(true, ["a", "b"]);
	streams[0]!.list(false, ["c"], ["a"]);
	expect(names()).toEqual(["b", "c"]);
	expect(watch.connection.value).toBe("live");
});

test("a lost connection is made again, and what ended meanwhile is gone", () => {
	streams[0]!.list(true, ["a", "b"]);
	streams[0]!.happen("error");
	expect(watch.connection.value).toBe("reconnecting");
	expect(names()).toEqual(["a", "b"]);
	expect(streams[0]!.isClosed).toBe(true);
	vi.advanceTimersByTime(250);
	streams[1]!.list(true, ["b"]);
	expect(names()).toEqual(["b"]);
	expect(watch.connection.value).toBe("live");
});

test("after some failures the page says that it is offline, and goes on trying", () => {
	for (let failure = 0; failure < 6; failure++) {
		streams.at(-1)!.happen("error");
		vi.advanceTimersByTime(5_000);
	}
	expect(watch.connection.value).toBe("offline");
	expect(streams).toHaveLength(7);
	streams.at(-1)!.happen("open");
	expect(watch.connection.value).toBe("live");
});

test("what a closed connection still says is not heard", () => {
	streams[0]!.list(true, ["a"]);
	watch.connect();
	streams[0]!.list(true, ["old"]);
	streams[0]!.happen("error");
	expect(names()).toEqual(["a"]);
	expect(streams).toHaveLength(2);
});

test("ages follow the daemon's clock", () => {
	streams[0]!.happen("sessions", { full: true, now: Date.now() + 90_000, sessions: [], removed: [] });
	expect(watch.now() - Date.now()).toBe(90_000);
});
