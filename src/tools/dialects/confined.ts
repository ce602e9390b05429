// What a dialect says of a sandbox. Its results have the shape of another system's, so only what is so is said.

import { z } from "zod";
import type { Session } from "../../session/session.ts";

export const confined = {
	sandbox: z.exactOptional(z.literal("enforced")).describe("It is confined; absent where it is not"),
};

export const sandboxOf = ({ isConfined }: Pick<Session, "isConfined">): { readonly sandbox?: "enforced" } =>
	isConfined ? { sandbox: "enforced" } : {};
