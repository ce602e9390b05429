import type { Approval } from "../protocol/approval.ts";
import { oneLine } from "../protocol/clean.ts";
import { joinReference } from "./session-names.ts";

/** A call that waits on another host, with the names that it and its session have here. */
export function approvalOn(host: string, approval: Approval): Approval {
	const { id, session, name } = approval;
	return {
		...approval,
		id: joinReference(host, id),
		session: session && joinReference(host, session),
		name: name && oneLine(joinReference(host, name)),
	};
}
