// A session in the list.

import { needWords } from "../attention.ts";
import {
	isOver,
	nameParts,
	type PersonSession,
	programOf,
	shownState,
	stateAttribute,
	stateWords,
} from "../live/person-session.ts";
import { useControl } from "../mission-control.ts";
import { drawnOnChange } from "./drawn-on-change.ts";
import { StateMark } from "./state-mark.tsx";

interface EntryParts {
	readonly session: PersonSession;
	/** In words: they change less often than the time. */
	readonly age: string;
	readonly isSelected: boolean;
	/** By this page. */
	readonly isDriven: boolean;
}

export const SessionEntry = drawnOnChange(({ session, age, isSelected, isDriven }: EntryParts) => {
	const control = useControl();
	const { name, command, lastLine, ports, driver } = session;
	const program = programOf(command);
	// Of a full screen, the end of the output is no line.
	const showsLine = lastLine.trim() !== "" && session.waitingFor !== "screen";
	return (
		<li class="entry" data-session={name} data-state={stateAttribute(session.state)} data-id={session.session}>
			<button
				type="button"
				class="entry-open"
				aria-current={isSelected ? "true" : undefined}
				onClick={() => control.go(session)}
			>
				<StateMark session={session} />
				<span class="entry-name">
					<SessionName session={session} />
				</span>
				{program !== nameParts(session)[1] && <span class="entry-program">{program}</span>}
				<span class="entry-age" title={isOver(session) ? "since it ended" : "since its last output"}>
					{age}
				</span>
				<span class="entry-state" data-shown={shownState(session)}>
					{stateWords(session, isDriven)}
					{driver.kind === "person" && (
						<span class="entry-driver"> · {isDriven ? "you drive" : `${driver.who} drives`}</span>
					)}
				</span>
				{showsLine && <span class="entry-line">{lastLine}</span>}
			</button>
			{ports.length > 0 && !isOver(session) && (
				<span class="entry-ports">
					<Ports session={session} />
				</span>
			)}
		</li>
	);
});

/** Where it listens: a link where that is this machine. */
export function Ports({ session: { ports, host } }: { session: PersonSession }) {
	return (
		<>
			{ports.map((port) =>
				host === undefined ? (
					<PortLink key={port} port={port} />
				) : (
					<span key={port} class="port" title={`On ${host}`}>
						:{port}
					</span>
				),
			)}
		</>
	);
}

/** Its name, after that of its machine where it is another one. */
export function SessionName({ session }: { session: PersonSession }) {
	const [machine, name] = nameParts(session);
	return (
		<>
			{machine !== "" && <span class="machine-of">{machine}</span>}
			{name}
		</>
	);
}

function PortLink({ port }: { port: number }) {
	return (
		<a
			class="port"
			href={`http://${otherHost()}:${port}/`}
			target="_blank"
			rel="noopener noreferrer"
			aria-label={`Open port ${port}`}
		>
			:{port}
		</a>
	);
}

export const NeedEntry = drawnOnChange(({ session, age }: Pick<EntryParts, "session" | "age">) => {
	const control = useControl();
	return (
		<li class="need">
			<button type="button" onClick={() => control.go(session)}>
				<StateMark session={session} />
				<span class="need-words">{needWords(session)}</span>
				<span class="entry-age">{age}</span>
			</button>
		</li>
	);
});

/** This machine by another name: a browser sends the cookie of this page to every port of its host, and what serves there need not get it. */
const otherHost = () => (location.hostname === "localhost" ? "127.0.0.1" : "localhost");
