// Who ends a session: a caller that asked for it, or the program itself.

import { PtyError } from "../pty/errors.ts";

export class EndRequests {
	#pending = 0;
	#sent = false;

	/** A caller has asked for the end. A request that was never sent does not count. */
	get made(): boolean {
		return this.#sent || this.#pending > 0;
	}

	/** Settles as the request does. */
	async track<T>(request: Promise<T>): Promise<T> {
		this.#pending++;
		try {
			const answer = await request;
			this.#sent = true;
			return answer;
		} catch (error) {
			const cause = (error as Error).cause;
			this.#sent ||= cause instanceof PtyError && cause.sent;
			throw error;
		} finally {
			this.#pending--;
		}
	}
}
