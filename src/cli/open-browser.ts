// Starts the person's browser on a login link, without showing the link to other users of this machine: the command
// line of a process is public, so the browser gets a file that only this user can read, and that leads to the link.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const FILE = "open.html";

/** Whether a browser, or what starts one, was there to be started. */
export async function openInBrowser(link: string, directory: string): Promise<boolean> {
	const file = join(directory, FILE);
	await rm(file, { force: true });
	const address = link.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`);
	const html = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}"><title>Dialtone</title>\n`;
	await writeFile(file, html, { mode: 0o600, flag: "wx" });
	const program = process.platform === "darwin" ? "open" : "xdg-open";
	const child = spawn(program, [file], { stdio: "ignore", detached: true });
	try {
		await once(child, "spawn");
		child.unref();
		return true;
	} catch {
		return false; // there is no such program
	}
}
