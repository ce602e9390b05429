// The moments of a session's past that a person asks for: fetched one after the other, the newest wish first, and shown.

import { daemon } from "../live/daemon-client.ts";
import { LatestOnly } from "../live/latest-only.ts";
import { Store } from "../live/store.ts";
import type { Pane } from "./fit.ts";
import type { ShownScreen, TerminalActions } from "./inert-terminal.ts";
import { MomentScreen } from "./moment-screen.ts";

/** The moment that was asked for last and answered: its screen is drawn, or could not be had. */
export interface ShownMoment {
	readonly atMs: number;
	readonly problem: string | null;
}

/** Fetches and shows moments; the terminal for them is made with the first one. */
export class Moments implements ShownScreen {
	readonly mirror = new Store("");
	readonly #actions: TerminalActions;
	readonly #host: HTMLElement;
	readonly #wishes: LatestOnly<number>;
	#screen: MomentScreen | null = null;
	#pane: Pane = { width: 0, height: 0, showsAll: false };

	constructor(id: string, host: HTMLElement, actions: TerminalActions, onShown: (moment: ShownMoment) => void) {
		this.#host = host;
		this.#actions = actions;
		this.#wishes = new LatestOnly(async (atMs, signal) => {
			try {
				const moment = await daemon.moment(id, atMs, signal);
				if (signal.aborted) return;
				await this.#made().show(moment);
				this.mirror.set(this.screenText());
				onShown({ atMs, problem: null });
			} catch (error) {
				if (!signal.aborted) onShown({ atMs, problem: (error as Error).message });
			}
		});
	}

	want(atMs: number | null): void {
		if (atMs !== null) this.#wishes.want(atMs);
	}

	layOut(pane: Pane): void {
		this.#pane = pane;
		this.#screen?.layOut(pane);
	}

	screenText(): string {
		return this.#screen?.screenText() ?? "";
	}

	selection(): string {
		return this.#screen?.selection() ?? "";
	}

	dispose(): void {
		this.#wishes.dispose();
		this.#screen?.dispose();
	}

	#made(): MomentScreen {
		this.#screen ??= new MomentScreen(this.#host, this.#actions);
		this.#screen.layOut(this.#pane);
		return this.#screen;
	}
}
