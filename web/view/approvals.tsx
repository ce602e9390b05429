// Calls that wait for the person: exactly what would be done, by whom and where, and their decision.

import { useState } from "preact/hooks";
import type { Approval } from "../../src/protocol/approval.ts";
import { daemon } from "../live/daemon-client.ts";
import { useStore } from "../live/store.ts";
import { useControl } from "../mission-control.ts";

const EFFECTS = { starts: "wants to start", types: "wants to run or type", ends: "wants to end" } as const;

export function Approvals() {
	const approvals = useStore(useControl().watch.approvals);
	return (
		<>
			{approvals.map((approval) => (
				<ApprovalBox key={approval.id} approval={approval} />
			))}
		</>
	);
}

function ApprovalBox({ approval }: { approval: Approval }) {
	const control = useControl();
	const [note, setNote] = useState("");
	const [isSending, setSending] = useState(false);
	const { id, owner, effect, tool, what, name, cwd, sandbox, parent, because } = approval;
	const decide = async (approve: boolean) => {
		if (isSending) return;
		setSending(true);
		await control.attempt(() => daemon.decide(id, approve, note));
		setSending(false);
	};
	const facts = [
		["Tool", tool],
		["Session", name],
		["Directory", cwd],
		["Sandbox", sandbox],
		["Conversation", parent],
		["Rule", because],
	] as const;
	return (
		<section class="need-box" aria-labelledby={`approval-${id}`}>
			<h2 id={`approval-${id}`}>
				{owner} {EFFECTS[effect]}
			</h2>
			<pre class="approval-what">{what}</pre>
			<dl>
				{facts.map(
					([label, value]) =>
						value !== null && (
							<>
								<dt>{label}</dt>
								<dd>
									<code>{value}</code>
								</dd>
							</>
						),
				)}
			</dl>
			<div class="need-row">
				<input
					aria-label="Note"
					placeholder="Note for the agent"
					autocomplete="off"
					maxLength={2000}
					value={note}
					onInput={(event) => setNote(event.currentTarget.value)}
				/>
				<button type="button" class="primary" disabled={isSending} onClick={() => void decide(true)}>
					Approve
				</button>
				<button type="button" disabled={isSending} onClick={() => void decide(false)}>
					Deny
				</button>
			</div>
		</section>
	);
}
