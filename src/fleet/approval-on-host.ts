import type { Approval } from "../protocol/approval.ts";
import { oneLine } from "../protocol/clean.ts";
import { hereMs } from "./clocks.ts";
import { joinReference } from "./session-names.ts";

/** A call that waits on another host, with the names that it and its session have here, and by our clock. */
export function approvalOn(host: string, approval: Approval, clock = 0): Approval {
	const { id, at, session, name } = approval;
	return {
		...approval,
		at: hereMs(at, clock),
		id: joinReference(host, id),
		session: session && joinReference(host, session),
		name: name && oneLine(joinReference(host, name)),
	};
}
