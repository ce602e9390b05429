// The machines of the fleet: each with its state, and chosen to see its sessions alone. Without a fleet, nothing.

import { lostWords } from "../live/lost.ts";
import { type Machine, machinesOf } from "../live/machines.ts";
import { useStore } from "../live/store.ts";
import { useControl } from "../mission-control.ts";

export function Machines({ now }: { now: number }) {
	const control = useControl();
	const fleet = useStore(control.watch.fleet);
	const chosen = useStore(control.machine);
	if (fleet === null) return null;
	const machines = machinesOf(fleet, control.sessions);
	return (
		<section class="machines" aria-label="Machines">
			<ul>
				{machines.map((machine) => (
					<li key={machine.name} data-machine={machine.name} data-lost={machine.lost !== null}>
						<button
							type="button"
							aria-pressed={chosen === machine.name}
							title={machine.details}
							onClick={() => control.machine.set(chosen === machine.name ? null : machine.name)}
						>
							<MachineMark lost={machine.lost !== null} />
							<span class="machine-name">{machine.name}</span>
							<span class="machine-state">{stateOf(machine, now)}</span>
						</button>
					</li>
				))}
			</ul>
		</section>
	);
}

function stateOf({ lost, isThis, open }: Machine, now: number): string {
	if (lost !== null) return lostWords(lost, now);
	return [isThis && "this machine", open > 0 && `${open} open`].filter(Boolean).join(" · ");
}

function MachineMark({ lost }: { lost: boolean }) {
	return (
		<svg class="machine-mark" viewBox="0 0 16 16" aria-hidden="true">
			<rect x="2" y="3" width="12" height="8" rx="1.6" class="line" />
			<path d={lost ? "M3 14.5 13.5 1.5" : "M5 14h6"} class="line" />
		</svg>
	);
}

/** The fleet's servers are away: what that means for what is seen. */
export function FleetBanner({ now }: { now: number }) {
	const fleet = useStore(useControl().watch.fleet);
	if (fleet === null || fleet.awaySince === null) return null;
	return (
		<p class="connection-banner" role="status" data-is="fleet">
			The fleet’s servers are {lostWords({ since: fleet.awaySince }, now)}. Sessions of this machine go on; others are
			shown as they were then.
		</p>
	);
}
