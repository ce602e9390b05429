// Where sessions get their terminals: from holders, or in tests from a fake.

import { basename } from "node:path";
import { type AdoptOptions, adopt } from "../pty/adopt.ts";
import { HolderPty } from "../pty/holder-pty.ts";
import { type LaunchSpec, launch } from "../pty/launch.ts";
import { endHolder } from "../pty/living-holder.ts";
import type { Pty } from "../pty/pty.ts";
import { giveScope } from "../pty/scope.ts";

export interface Terminals {
	readonly launch: (spec: LaunchSpec) => Promise<Pty>;
	/** Null when the holder is gone; rejects when it may be alive but is unreachable. */
	readonly adopt: (options: AdoptOptions) => Promise<Pty | null>;
	/** Ends a session by its holder's process; returns what could not be ended, null where no such holder lives. */
	readonly endHolder: typeof endHolder;
}

export const holderTerminals: Terminals = {
	launch: async (spec) => {
		const pty = await launch(spec);
		void giveScope(`dialtone-${basename(spec.directory)}`, pty.holderPid);
		return pty;
	},
	adopt: async (options) => {
		const found = await adopt(options);
		return found instanceof HolderPty ? found : null;
	},
	endHolder,
};
