// The behaviours of test/contract with the sessions of another machine: their words and facts are those of this process,
// but for what `namedOn` says.

import { afterAll, beforeAll, describe, test } from "vitest";
import { BEHAVIOURS, type Behaviour } from "../contract/behaviours.ts";
import { type References, showBehaviour } from "../contract/conversation.ts";
import { SURFACES, type Surface, type Way, WITHOUT_DIALECTS } from "../contract/surfaces.ts";
import { missing } from "../programs.ts";
import { fleetSurface, HOST, SURFACES_NEED } from "./fleet-surfaces.ts";

export function testContract(ways: readonly Way[]): void {
	describe.skipIf(missing(...SURFACES_NEED).length > 0)("a session of another machine", () => {
		const references: References = new Map();
		// Those with refusals first, which name the sessions that there are: by then they are the same on both machines.
		const refusing = BEHAVIOURS.filter(({ refuses }) => refuses);
		const ordered = [...refusing, ...BEHAVIOURS.filter(({ refuses }) => !refuses)];
		const nameOf = (behaviour: Behaviour) => `s${ordered.indexOf(behaviour) + 1}`;

		describe("as a session of this one, for the words of its refusals", () => {
			let surface: Surface;
			beforeAll(async () => {
				surface = await SURFACES["in this process"]!();
			});
			afterAll(() => surface.close());
			for (const behaviour of refusing)
				test(behaviour.what, () => showBehaviour(behaviour, { surface, name: nameOf(behaviour), references }));
		});

		describe.each(ways)("by %s", (way) => {
			let surface: Surface;
			beforeAll(async () => {
				surface = await fleetSurface(way);
			});
			afterAll(() => surface?.close());
			for (const behaviour of ordered)
				test.skipIf(behaviour.dialect && WITHOUT_DIALECTS.has(way))(behaviour.what, () =>
					showBehaviour(behaviour, { surface, name: nameOf(behaviour), references, host: HOST }),
				);
		});
	});
}
