// A refusal in words for the person at the page: the daemon's own are for whoever calls it, and speak of tools.

import type { FaultWords } from "./terminal-socket.ts";

export function refusalWords({ fault, message, next, facts }: FaultWords): string {
	switch (fault) {
		case "driven_by_human":
			return `Not sent: ${facts?.who ?? "another person"} drives this terminal. Take over to send it.`;
		case "not_asked":
			return "Not sent: it is not asked for any more. Take over to type something else.";
		default:
			return [message, next].filter(Boolean).join(" ");
	}
}
