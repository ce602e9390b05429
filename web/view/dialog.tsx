// A modal box: focus stays in it, Esc closes it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../live/daemon-client.ts";
import { useControl } from "../mission-control.ts";

interface DialogParts {
	readonly title: string;
	readonly children: ComponentChildren;
	readonly class?: string;
}

export function Dialog({ title, children, class: name = "" }: DialogParts) {
	const control = useControl();
	const element = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const before = document.activeElement;
		element.current?.showModal();
		return () => {
			if (before instanceof HTMLElement) before.focus();
		};
	}, []);
	/** At once, with the focus: the event of the close comes later, and the next key would still be for a box that is gone. */
	const close = () => {
		element.current?.close();
		control.dialog.set(null);
	};
	return (
		<dialog
			ref={element}
			class={`dialog ${name}`}
			aria-label={title}
			onCancel={close} // Esc
			onMouseDown={(event) => {
				if (event.target === element.current) close();
			}}
		>
			<div class="dialog-body">
				<h2>{title}</h2>
				{children}
			</div>
		</dialog>
	);
}

interface AskParts {
	readonly title: string;
	readonly children?: ComponentChildren;
	/** The button's words. */
	readonly action: string;
	readonly isDangerous?: boolean;
	/** The box closes when this is done; it stays, and says why, when it is refused. */
	run(form: FormData): Promise<unknown> | unknown;
}

/** A box that asks before something is done, with or without fields. */
export function AskDialog({ title, children, action, isDangerous = false, run }: AskParts) {
	const control = useControl();
	const cancel = useRef<HTMLButtonElement>(null);
	const [refused, setRefused] = useState<string | null>(null);
	// After the box was opened, which is an effect of its child.
	useEffect(() => {
		if (isDangerous) cancel.current?.focus();
	}, [isDangerous]);
	return (
		<Dialog title={title}>
			<form
				onSubmit={async (event) => {
					event.preventDefault();
					const form = new FormData(event.currentTarget);
					setRefused(null);
					try {
						await run(form);
						control.dialog.set(null);
					} catch (error) {
						setRefused(refusalIn(error));
					}
				}}
			>
				{children}
				{refused !== null && (
					<p class="need-refused" role="alert">
						{refused}
					</p>
				)}
				<div class="dialog-actions">
					<button ref={cancel} type="button" class="quiet" onClick={() => control.dialog.set(null)}>
						Cancel
					</button>
					<button type="submit" class={isDangerous ? "danger" : "primary"}>
						{action}
					</button>
				</div>
			</form>
		</Dialog>
	);
}

/** What happened, without the next step: that is for who calls tools. */
function refusalIn(error: unknown): string {
	if (error instanceof Refused) return error.reason;
	return error instanceof Error ? error.message : String(error);
}

interface FieldParts {
	readonly label: string;
	readonly children: ComponentChildren;
}

export function Field({ label, children }: FieldParts) {
	return (
		// biome-ignore lint/a11y/noLabelWithoutControl: the control is its child
		<label class="field">
			<span>{label}</span>
			{children}
		</label>
	);
}
