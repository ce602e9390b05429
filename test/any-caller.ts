// For servers that are tested without sessions: every caller is the user, outside of all of them.

import type { Callers } from "../src/daemon/callers.ts";

export const anyCaller: Callers = {
	identify: async () => ({ inside: null, confined: null }),
	admit: async (question) => question,
	refused: () => null,
	mayHearOf: async () => true,
};
