// A session for tests: a shell that works, unless said otherwise.

import type { PersonSession } from "./person-session.ts";

export function sampleSession(facts: { readonly [Key in keyof PersonSession]?: unknown } = {}): PersonSession {
	return {
		session: "s1",
		name: "sh",
		command: "bash",
		cwd: "/home/ada",
		status: "running",
		activity: "working",
		waitingFor: null,
		because: "",
		exit: null,
		pid: 1,
		createdAt: 1_000,
		updatedAt: 1_000,
		offset: 0,
		lines: 0,
		lastLine: "",
		truncated: false,
		owner: null,
		mine: false,
		byName: false,
		parent: null,
		keep: false,
		inherit: null,
		sandbox: "none",
		state: "working",
		cols: 80,
		rows: 24,
		ports: [],
		driver: { kind: "agent" },
		needs: null,
		...facts,
	} as PersonSession;
}
