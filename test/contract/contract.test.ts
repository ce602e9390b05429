// One table of behaviours over every way in: whoever comes, the conversation is the same.

import { afterAll, beforeAll, describe, test } from "vitest";
import { BEHAVIOURS } from "./behaviours.ts";
import { type References, showBehaviour } from "./conversation.ts";
import { SURFACES, type Surface, WITHOUT_DIALECTS } from "./surfaces.ts";

const references: References = new Map();

// The first is this process: its words are the reference.
describe.each(Object.entries(SURFACES))("by %s", (way, open) => {
	let surface: Surface;
	beforeAll(async () => {
		surface = await open();
	});
	afterAll(() => surface.close());

	for (const [index, behaviour] of BEHAVIOURS.entries())
		test.skipIf(behaviour.dialect && WITHOUT_DIALECTS.has(way))(behaviour.what, () =>
			showBehaviour(behaviour, { surface, name: `s${index + 1}`, references }),
		);
});
