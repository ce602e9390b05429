// Which cases of the corpus cannot be played in a sandbox is told by what they show, too.

import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { complains, roomFor } from "./confined.ts";

const room = roomFor("/tmp/dialtone-corpus-x", "/tmp/stubs");

test("a program that names a file of the machine that its sandbox has not is not the program of the table", () => {
	const scores = mkdtempSync(join(tmpdir(), "dt-scores-"));
	expect(complains(`Cannot open ${scores}.  Is it installed correctly?`, room)).toBe(
		`needs ${scores}, which is not there`,
	);
	rmdirSync(scores);
});

test("so is one that misses in its home what the case has put into it", () => {
	const workspace = mkdtempSync(join(tmpdir(), "dt-workspace-"));
	mkdirSync(join(workspace, "Mail"));
	const there = roomFor(workspace, "/tmp/stubs");
	expect(complains("/home/confined/Mail does not exist. Create it?", there)).toMatch(
		/^shows Mail of its home directory/,
	);
	expect(complains("root@vm /home/confined/", there)).toMatch(/^shows its home directory/);
	expect(complains("/home/confined/Other does not exist. Create it?", there)).toBe(null);
	rmSync(workspace, { recursive: true });
});

test("names of what is there, of what is nowhere, and parts of others are no reason", () => {
	for (const screen of ["less /etc/services", "/no/such file", "lines 3/7", "~/var/lib", "../var/lib", "/tmp /var"])
		expect(complains(screen, room)).toBe(null);
});
