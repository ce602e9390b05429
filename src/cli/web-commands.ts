// The page: a link that logs a browser in once, and links that show one session to somebody else.

import { userName } from "../pty/user-name.ts";
import type { Invocation } from "./command.ts";
import { portIn } from "./daemon-commands.ts";
import { EXIT } from "./exit-codes.ts";
import { badInput } from "./flags.ts";
import { openInBrowser } from "./open-browser.ts";
import { look } from "./session-named.ts";

export async function web({ flags, json, io, dependencies }: Invocation): Promise<number> {
	const url = await dependencies.page.open(portIn(flags, io));
	const { link, expiresAt } = await dependencies.page.loginLink(url);
	if (json) io.out(`${JSON.stringify({ url, link, expiresAt })}\n`);
	else io.out(`${link}\n`);
	if (!json && io.stdout.isTTY) io.err(`Good for ${minutesUntil(expiresAt)}, once.\n`);
	if (flags.on("open") && !(await openInBrowser(link, dependencies.stateDir)))
		io.err("No browser could be started: open the link yourself.\n");
	return EXIT.ok;
}

export async function share(invocation: Invocation): Promise<number> {
	const { flags, json, io, dependencies, words } = invocation;
	const minutes = flags.number("minutes") ?? SHARED_MINUTES;
	if (!(minutes > 0 && minutes <= MAX_MINUTES))
		throw badInput(`--minutes takes more than 0, and at most ${MAX_MINUTES}`);
	await using client = await dependencies.connect();
	const { session: id, name } = await look(invocation, client, words[0]!);
	await client.act(id, { act: "share", who: userName() });
	const url = await dependencies.page.open(portIn(flags, io));
	const shared = await dependencies.page.shareLink(url, { id, name, minutes });
	io.out(json ? `${JSON.stringify({ session: id, ...shared })}\n` : `${shared.link}\n`);
	if (!json && io.stdout.isTTY)
		io.err(
			`Shows ${name} to one browser, for ${minutesUntil(shared.expiresAt)}. End it: dialtone token revoke ${shared.id}\n`,
		);
	return EXIT.ok;
}

const SHARED_MINUTES = 60;
const MAX_MINUTES = 30 * 24 * 60;

const minutesUntil = (at: number) => `${Math.max(1, Math.round((at - Date.now()) / 60_000))} minutes`;
