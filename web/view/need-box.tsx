// What a session wants of a person: a secret, an answer to the agent's question, or somebody at last.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Need, PersonSession } from "../live/person-session.ts";
import { refusalWords } from "../live/refusal-words.ts";
import type { Outcome } from "../live/terminal-socket.ts";
import { age } from "../live/timeline.ts";
import type { LiveTerminal } from "../terminal/live-terminal.ts";
import { useNow } from "./use-now.ts";

interface NeedParts {
	readonly session: PersonSession;
	readonly live: LiveTerminal;
}

export function NeedBox({ session, live }: NeedParts) {
	const { needs, state } = session;
	if (needs === null) return null;
	if (needs.kind === "unanswered") return <Unanswered need={needs} session={session} />;
	return (
		<>
			{needs.kind === "question" && <Question key={`question ${needs.since}`} need={needs} live={live} />}
			{(needs.kind === "secret" || state === "secret") && (
				<Secret key={`secret ${needs.since}`} need={needs} live={live} />
			)}
		</>
	);
}

type Sending = { readonly is: "ready" | "sending" | "sent" } | { readonly is: "refused"; readonly words: string };

const READY: Sending = { is: "ready" };

/** What was typed is kept until the daemon has it: `send` is true when it does. */
function useSending(): [Sending, (give: () => Promise<Outcome>) => Promise<boolean>] {
	const [sending, setSending] = useState<Sending>(READY);
	const isBusy = useRef(false);
	const send = async (give: () => Promise<Outcome>) => {
		if (isBusy.current) return false;
		isBusy.current = true;
		setSending({ is: "sending" });
		const refused = await give();
		isBusy.current = false;
		setSending(refused === null ? { is: "sent" } : { is: "refused", words: refusalWords(refused) });
		return refused === null;
	};
	return [sending, send];
}

/** When the box goes while the focus is in it, a person who drives has it in the terminal again. */
function useFocusAfter(live: LiveTerminal) {
	const box = useRef<HTMLElement>(null);
	useLayoutEffect(
		() => () => {
			if (live.status.value.isMine && box.current?.contains(document.activeElement)) live.focus();
		},
		[live],
	);
	return box;
}

/** Nobody is typing: not into a terminal that they drive (or drove until just now), and not into a field. */
function isNobodyTyping(live: LiveTerminal): boolean {
	const { activeElement: active } = document;
	if (live.status.value.isMine || document.querySelector("dialog[open], .terminal-host[data-lost]") !== null)
		return false;
	return active?.closest(".terminal-host") != null || active?.matches("input, textarea, select") !== true;
}

function Secret({ need, live }: { need: Need; live: LiveTerminal }) {
	const box = useFocusAfter(live);
	const input = useRef<HTMLInputElement>(null);
	const [sending, give] = useSending();
	useEffect(() => {
		if (isNobodyTyping(live)) input.current?.focus();
	}, [live]);
	const send = async () => {
		const field = input.current!;
		if (!(await give(() => live.secret(field.value)))) return;
		// Kept nowhere: the field was the only place.
		field.value = "";
		if (box.current?.contains(document.activeElement)) live.focus();
	};
	return (
		<section class="need-box" ref={box} aria-labelledby="secret-title">
			<h2 id="secret-title">
				{need.program} wants a secret{need.host === null ? "" : ` for ${need.host}`}
			</h2>
			<dl>
				<dt>Program</dt>
				<dd>
					<code>{need.program}</code>
				</dd>
				{need.host !== null && (
					<>
						<dt>Host</dt>
						<dd>
							<code>{need.host}</code>
						</dd>
					</>
				)}
				<dt>Command</dt>
				<dd>
					<code>{need.command}</code>
				</dd>
				{need.question !== null && (
					<>
						<dt>It asks</dt>
						<dd>
							<code>{need.question}</code>
						</dd>
					</>
				)}
			</dl>
			<div class="need-row">
				<input
					ref={input}
					type="password"
					aria-label="Secret"
					autocomplete="off"
					autocapitalize="off"
					spellcheck={false}
					data-1p-ignore
					data-lpignore="true"
					readOnly={sending.is === "sending"}
					// No form: browsers offer to keep what is submitted.
					onKeyDown={(event) => {
						if (event.key !== "Enter" || event.isComposing) return;
						event.preventDefault();
						if (!event.repeat) void send();
					}}
				/>
				<button type="button" class="primary" onClick={() => void send()}>
					Send secret
				</button>
			</div>
			<SendingState
				sending={sending}
				otherwise="Goes straight to the program. It is not recorded, and no agent sees it."
			/>
		</section>
	);
}

function Question({ need, live }: { need: Need; live: LiveTerminal }) {
	const box = useFocusAfter(live);
	const [answer, setAnswer] = useState("");
	const [sending, give] = useSending();
	const send = async (outcome: () => Promise<Outcome>) => {
		if (await give(outcome)) setAnswer("");
	};
	return (
		<section class="need-box" ref={box} aria-labelledby="question-title">
			<h2 id="question-title">The agent asks you</h2>
			<p class="question">{need.question}</p>
			{need.reason !== null && <p class="hint">{need.reason}</p>}
			<form
				class="need-row"
				onSubmit={(event) => {
					event.preventDefault();
					void send(() => live.answer(answer));
				}}
			>
				<input
					aria-label="Answer"
					placeholder="Your answer"
					aria-describedby="answer-hint"
					autocomplete="off"
					value={answer}
					readOnly={sending.is === "sending"}
					onKeyDown={(event) => event.key === "Enter" && event.repeat && event.preventDefault()}
					onInput={(event) => setAnswer(event.currentTarget.value)}
				/>
				<button type="submit" class="primary">
					Answer
				</button>
				<button type="button" onClick={() => live.takeOver()}>
					Answer in the terminal
				</button>
				<button type="button" class="quiet" onClick={() => void send(() => live.decline())}>
					Decline
				</button>
			</form>
			<SendingState
				id="answer-hint"
				sending={sending}
				otherwise={`Typed into the terminal, with Enter: ${need.program || "the program"} gets it as its input.`}
			/>
		</section>
	);
}

function SendingState({ id, sending, otherwise }: { id?: string; sending: Sending; otherwise: string }) {
	const words = { ready: otherwise, sending: "Sending …", sent: "Sent." };
	return (
		<>
			<p id={id} class="hint" role="status">
				{sending.is === "refused" ? "" : words[sending.is]}
			</p>
			{sending.is === "refused" && (
				<p class="need-refused" role="alert">
					{sending.words}
				</p>
			)}
		</>
	);
}

function Unanswered({ need, session }: { need: Need; session: PersonSession }) {
	const now = useNow(10_000);
	return (
		<section class="need-box slim" aria-label="Nobody has answered">
			<p>
				{session.name} has waited for {age(now - need.since)}, and no agent has used it since.
			</p>
		</section>
	);
}
