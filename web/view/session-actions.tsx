// What a person can do with a session. What ends something asks first.

import { daemon, EXPORT_FORMATS, type ExportFormat } from "../live/daemon-client.ts";
import { isOver, nameParts, type PersonSession } from "../live/person-session.ts";
import type { MissionControl } from "../mission-control.ts";
import { AskDialog, Dialog, Field } from "./dialog.tsx";
import { NameField, openWhenListed } from "./new-session-dialog.tsx";

const SIGNALS = ["INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2", "WINCH", "TSTP", "CONT"];

export interface Action {
	readonly name: string;
	readonly isDangerous?: boolean;
	/** It cannot be done now. */
	readonly isOff?: boolean;
	run(): void;
}

export interface Actions {
	readonly actions: readonly Action[];
	/** Why some are off. */
	readonly note: string | null;
}

/** The actions on a session, in the order of the menu. `atMs`: the moment that is shown, or null for live. */
export function actionsOn(control: MissionControl, session: PersonSession, atMs: number | null): Actions {
	const lost = control.lostWords(session);
	const actions = actionsOnAny(control, session, atMs);
	return lost === null ? { actions, note: null } : { actions: actions.map(off), note: `${lost}.` };
}

const off = (action: Action): Action => ({ ...action, isOff: true });

function actionsOnAny(control: MissionControl, session: PersonSession, atMs: number | null): readonly Action[] {
	const { session: id, name } = session;
	const ask = (dialog: Parameters<MissionControl["dialog"]["set"]>[0]) => () => control.dialog.set(dialog);
	const download = (format: ExportFormat): Action => ({
		name: `Download: ${EXPORT_FORMATS[format]}${atMs !== null && (format === "svg" || format === "png") ? " of this moment" : ""}`,
		run: () => save(daemon.exportUrl(id, format, format === "svg" || format === "png" ? atMs : null)),
	});
	const downloads = (Object.keys(EXPORT_FORMATS) as ExportFormat[]).map(download);
	if (!control.mayAct) return downloads;
	const restart: Action = {
		name: "Restart",
		run: ask(
			<AskDialog
				title={`Restart ${name}?`}
				action="Restart"
				isDangerous={!isOver(session)}
				run={async () => openWhenListed(control, (await daemon.restart(id)).session)}
			>
				<p>
					{isOver(session)
						? "Starts the same command again:"
						: "Ends what runs in it and starts the same command again:"}
				</p>
				<pre>{session.command}</pre>
			</AskDialog>,
		),
	};
	const rename: Action = {
		name: "Rename",
		run: ask(
			<AskDialog
				title={`Rename ${name}`}
				action="Rename"
				run={(form) => renamed(control, session, String(form.get("name")))}
			>
				<NameField label="Name" value={nameParts(session)[1]} required />
			</AskDialog>,
		),
	};
	const share: Action = {
		name: "Share a read-only link",
		run: ask(
			<AskDialog
				title={`Share ${name}`}
				action="Make a link"
				run={(form) => shared(control, id, Number(form.get("minutes")))}
			>
				<p>Who opens the link first can watch this terminal, and nothing else. It opens in one browser only.</p>
				<Field label="Valid for (minutes)">
					<input name="minutes" type="number" min="1" max="10080" value="60" required />
				</Field>
			</AskDialog>,
		),
	};
	const remove: Action = {
		name: "Delete",
		isDangerous: true,
		run: ask(
			<AskDialog
				title={`Delete ${name}?`}
				action="Delete"
				isDangerous
				run={async () => {
					await daemon.remove(id);
					control.go(null);
				}}
			>
				<p>Deletes its record and all of its output.</p>
			</AskDialog>,
		),
	};
	if (isOver(session)) return [restart, rename, share, ...downloads, remove];
	return [
		restart,
		rename,
		{ name: "Send a signal", run: ask(<SignalDialog session={session} />) },
		{ name: "Resize", run: ask(<ResizeDialog session={session} />) },
		share,
		...downloads,
		{ name: "Close", isDangerous: true, run: ask(<CloseDialog session={session} />) },
	];
}

function SignalDialog({ session }: { session: PersonSession }) {
	return (
		<AskDialog
			title={`Send a signal to ${session.name}`}
			action="Send"
			isDangerous
			run={(form) => daemon.signal(session.session, String(form.get("signal")))}
		>
			<p>Goes to the program in the foreground. Most signals end it.</p>
			<Field label="Signal">
				<select name="signal">
					{SIGNALS.map((signal) => (
						<option key={signal}>{signal}</option>
					))}
				</select>
			</Field>
		</AskDialog>
	);
}

function ResizeDialog({ session }: { session: PersonSession }) {
	return (
		<AskDialog
			title={`Resize ${session.name}`}
			action="Resize"
			run={(form) => daemon.resize(session.session, Number(form.get("cols")), Number(form.get("rows")))}
		>
			<div class="fields-row">
				<Field label="Columns">
					<input name="cols" type="number" min="20" max="500" value={session.cols} required />
				</Field>
				<Field label="Rows">
					<input name="rows" type="number" min="5" max="200" value={session.rows} required />
				</Field>
			</div>
		</AskDialog>
	);
}

function CloseDialog({ session }: { session: PersonSession }) {
	return (
		<AskDialog
			title={`Close ${session.name}?`}
			action="Close it"
			isDangerous
			run={(form) => daemon.close(session.session, form.get("force") === "on")}
		>
			<p>Ends this program and everything it started. Its output stays readable.</p>
			<pre>{session.command}</pre>
			<label class="check">
				<input type="checkbox" name="force" /> Kill at once
			</label>
		</AskDialog>
	);
}

async function renamed(control: MissionControl, session: PersonSession, name: string): Promise<void> {
	const renamed = await daemon.rename(session.session, name);
	control.go({ ...session, name: renamed.name as PersonSession["name"] });
}

async function shared(control: MissionControl, id: string, minutes: number): Promise<void> {
	const { url } = await daemon.share(id, minutes);
	// After the box that asked has closed.
	setTimeout(() => control.dialog.set(<LinkToCopy control={control} url={url} />));
}

function LinkToCopy({ control, url }: { control: MissionControl; url: string }) {
	return (
		<Dialog title="Read-only link">
			<pre>{url}</pre>
			<div class="dialog-actions">
				<button type="button" class="quiet" onClick={() => control.dialog.set(null)}>
					Close
				</button>
				<button
					type="button"
					class="primary"
					onClick={async () => {
						await copyText(control, url, "Link copied.");
						control.dialog.set(null);
					}}
				>
					Copy
				</button>
			</div>
		</Dialog>
	);
}

export async function copyText(control: MissionControl, text: string, done: string): Promise<void> {
	await control.attempt(async () => {
		await navigator.clipboard.writeText(text);
		control.say(done);
	});
}

function save(url: string): void {
	const link = document.createElement("a");
	link.href = url;
	link.download = "";
	link.click();
}
