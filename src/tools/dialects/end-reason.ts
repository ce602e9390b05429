import { z } from "zod";
import { type CleanLine, oneLine } from "../../protocol/clean.ts";
import type { Session } from "../../session/session.ts";
import { cleanLine } from "../facts.ts";

/** In the facts of an answer. */
export const reason = z.exactOptional(cleanLine).describe("Why it ended, where the exit code does not say it");

/** Why a session ended that neither its program nor a caller ended: a limit, idleness, the loss of its holder. */
export const endReason = (session: Session): CleanLine | null =>
	session.endedFromOutside ? oneLine(session.endedBecause ?? session.howItEnded) : null;
