import { daemon } from "../live/daemon-client.ts";
import { machinesOf } from "../live/machines.ts";
import { useControl } from "../mission-control.ts";
import { AskDialog, Field } from "./dialog.tsx";

/** As the daemon checks it. */
const NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}";
const NAME_WORDS = "Letters, digits, dot, dash and underscore, at most 64; first a letter or a digit.";

export function NewSessionDialog() {
	const control = useControl();
	const machines = machinesOf(control.watch.fleet.value, []).filter(({ lost }) => lost === null);
	const wanted = machines.find(({ name, isThis }) => name === control.machine.value && !isThis);
	const chosen = wanted?.name ?? "";
	return (
		<AskDialog
			title="New terminal"
			action="Start"
			run={async (form) => {
				const input = Object.fromEntries([...form].filter(([, value]) => value !== ""));
				const { session } = await daemon.start(input);
				control.toDrive = session;
				openWhenListed(control, session);
			}}
		>
			<Field label="Command (empty: a shell)">
				<input name="command" class="code" autocomplete="off" spellcheck={false} placeholder="bash" />
			</Field>
			{machines.length > 1 && (
				<Field label="Machine">
					<select name="host" defaultValue={chosen}>
						{machines.map(({ name, isThis }) => (
							<option key={name} value={isThis ? "" : name}>
								{name}
								{isThis ? " (this machine)" : ""}
							</option>
						))}
					</select>
				</Field>
			)}
			<NameField label="Name (optional)" />
			<Field label="Directory (optional)">
				<input name="cwd" class="code" autocomplete="off" spellcheck={false} />
			</Field>
		</AskDialog>
	);
}

interface NameParts {
	readonly label: string;
	readonly value?: string;
	readonly required?: boolean;
}

/** A session's name, with which names there can be: the browser's own words for a pattern do not say it. */
export function NameField({ label, value = "", required = false }: NameParts) {
	return (
		<div class="field">
			<Field label={label}>
				<input
					name="name"
					aria-describedby="name-words"
					required={required}
					pattern={NAME_PATTERN}
					defaultValue={value}
					autocomplete="off"
					spellcheck={false}
					onInput={({ currentTarget: field }) => {
						field.setCustomValidity("");
						if (field.validity.patternMismatch) field.setCustomValidity(NAME_WORDS);
					}}
				/>
			</Field>
			<span id="name-words">{NAME_WORDS}</span>
		</div>
	);
}

/** Goes to a session that was just started, once the list has it. */
export function openWhenListed(control: ReturnType<typeof useControl>, id: string): void {
	const open = () => {
		const session = control.watch.sessions.value.get(id);
		if (session === undefined) return false;
		control.go(session);
		return true;
	};
	if (open()) return;
	const stop = control.watch.sessions.onChange(() => {
		if (open()) stop();
	});
}
