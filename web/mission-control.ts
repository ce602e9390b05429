// What the page knows and where it is: the parts that views share, wired once.

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { daemon, type Me, Refused } from "./live/daemon-client.ts";
import { lostWords } from "./live/lost.ts";
import { lostOf } from "./live/machines.ts";
import { needing, type PersonSession, referenceTo, sessionCalled } from "./live/person-session.ts";
import { hashOf, type Place, placeOf } from "./live/place.ts";
import { SessionWatch } from "./live/session-watch.ts";
import { Store } from "./live/store.ts";

const TOAST_MS = 6_000;

export class MissionControl {
	readonly watch = new SessionWatch({ open: () => new EventSource("/v1/watch") });
	readonly me = new Store<Me | null>(null);
	/** The cookie is no longer good: only a new link helps. */
	readonly isSignedOut = new Store(false);
	readonly place = new Store<Place>(placeOf(location.hash));
	/** Of the fleet: only its sessions are listed; null: all. */
	readonly machine = new Store<string | null>(null);
	/** The session that this page drives. */
	readonly driven = new Store<string | null>(null);
	/** A session that this person has just started: they drive as soon as it is open. */
	toDrive: string | null = null;
	readonly dialog = new Store<ComponentChildren>(null);
	/** Terminals are shown whole, even if their letters are too small to be read. */
	readonly showsAll = new Store(false);
	/** On a phone the list is a sheet over the page. */
	readonly isSheetOpen = new Store(false);
	/** The newest message to the person. */
	readonly toast = new Store<string | null>(null);
	/** Read aloud by screen readers. */
	readonly announcement = new Store("");
	#toastTimer: ReturnType<typeof setTimeout> | undefined;

	open(): void {
		window.addEventListener("hashchange", () => this.place.set(placeOf(location.hash)));
		document.addEventListener("visibilitychange", () => {
			if (document.visibilityState === "visible") this.watch.reconnectIfSilent();
		});
		window.addEventListener("online", () => this.watch.connect());
		const showConnection = () => {
			document.body.dataset.connection = this.isSignedOut.value ? "offline" : this.watch.connection.value;
		};
		this.isSignedOut.onChange(showConnection);
		this.watch.connection.onChange(() => {
			showConnection();
			void this.#whoAmI();
		});
		this.watch.connect();
		void this.#whoAmI();
	}

	get sessions(): readonly PersonSession[] {
		return [...this.watch.sessions.value.values()];
	}

	/** The session that the address means, if there is one. */
	get selected(): PersonSession | undefined {
		const { session } = this.place.value;
		return session === null ? undefined : sessionCalled(this.sessions, session);
	}

	get needing(): readonly PersonSession[] {
		return needing(this.sessions);
	}

	/** Those of the machine that was chosen; all, where none was. */
	get listed(): readonly PersonSession[] {
		const chosen = this.machine.value;
		const own = this.watch.fleet.value?.host;
		return chosen === null ? this.sessions : this.sessions.filter(({ host = own }) => host === chosen);
	}

	/** Why nothing can be done with a session now: its machine is not heard of. Null: it is. */
	lostWords({ host, unreachableSince }: PersonSession): string | null {
		const lost = unreachableSince === undefined ? lostOf(this.watch.fleet.value, host) : { since: unreachableSince };
		return lost === null || host === undefined ? null : `${host} is ${lostWords(lost, this.watch.now())}`;
	}

	/** Whether the person may do more than look. */
	get mayAct(): boolean {
		return this.me.value?.role !== "view";
	}

	go(session: PersonSession | null, atMs: number | null = null): void {
		const reference = session === null ? null : referenceTo(this.sessions, session);
		const hash = hashOf({ session: reference, atMs });
		this.isSheetOpen.set(false);
		history.pushState(null, "", hash === "" ? location.pathname : hash);
		this.place.set(placeOf(hash));
	}

	/** Moves within a session's past without filling the browser's history. */
	goToMoment(session: PersonSession, atMs: number | null): void {
		const hash = hashOf({ session: referenceTo(this.sessions, session), atMs });
		history.replaceState(null, "", hash);
		this.place.set(placeOf(hash));
	}

	say(message: string): void {
		clearTimeout(this.#toastTimer);
		this.toast.set(message);
		this.announcement.set(message);
		this.#toastTimer = setTimeout(() => this.toast.set(null), TOAST_MS);
	}

	/** Runs what a person asked for, and tells them when it was refused. */
	async attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
		try {
			return await action();
		} catch (error) {
			this.say(error instanceof Error ? error.message : String(error));
			return undefined;
		}
	}

	async #whoAmI(): Promise<void> {
		try {
			this.me.set(await daemon.me());
			this.isSignedOut.set(false);
		} catch (error) {
			// Otherwise the daemon is not there: the connection says so.
			if (error instanceof Refused && error.status === 401) this.isSignedOut.set(true);
		}
	}
}

const Shared = createContext<MissionControl | null>(null);
export const SharedControl = Shared.Provider;

export function useControl(): MissionControl {
	return useContext(Shared)!;
}
