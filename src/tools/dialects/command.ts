import { commandLine } from "../fields.ts";

/** A command line with something to run in it. */
export const command = commandLine.refine((line) => line === "" || line.trim() !== "", "the command is blank");
