// Who ends a session: a caller that asked for it, a limit of ours, or the program itself.

import { PtyError } from "../pty/errors.ts";

export class EndRequests {
	#pending = 0;
	#sent = false;
	#because: string | null = null;

	/** A caller has asked for the end. A request that was never sent does not count. */
	get made(): boolean {
		return this.#sent || this.#pending > 0;
	}

	/** Why, where no caller asked for it. */
	get because(): string | null {
		return this.#because;
	}

	/** Settles as the request does. `because` counts with the request; without it, the reason stays as it is. */
	async track<T>(request: Promise<T>, because: string | null = this.#because): Promise<T> {
		const before = this.#because;
		this.#because = because;
		this.#pending++;
		try {
			const answer = await request;
			this.#sent = true;
			return answer;
		} catch (error) {
			const cause = (error as Error).cause;
			const sent = cause instanceof PtyError && cause.sent;
			this.#sent ||= sent;
			if (!sent && this.#because === because) this.#because = before;
			throw error;
		} finally {
			this.#pending--;
		}
	}
}
