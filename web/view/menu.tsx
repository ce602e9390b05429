// A button with a list of actions under it.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "./session-actions.tsx";

export function Menu({ label, actions, note }: { label: string } & Actions) {
	const [isOpen, setOpen] = useState(false);
	const root = useRef<HTMLDivElement>(null);
	useEffect(() => {
		if (!isOpen) return;
		root.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
		const closeOutside = (event: PointerEvent) => {
			if (!root.current?.contains(event.target as Node)) setOpen(false);
		};
		document.addEventListener("pointerdown", closeOutside);
		return () => document.removeEventListener("pointerdown", closeOutside);
	}, [isOpen]);
	const move = (event: KeyboardEvent) => {
		const items = [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
		const at = items.indexOf(document.activeElement as HTMLElement);
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
		if (event.key === "Escape") {
			setOpen(false);
			root.current?.querySelector("button")?.focus();
		} else if (to !== undefined) items.at(to % items.length)?.focus();
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div class="menu" ref={root}>
			<button type="button" aria-haspopup="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
				{label}
			</button>
			{isOpen && (
				<div class="menu-list">
					<div role="menu" aria-label={label} tabIndex={-1} onKeyDown={move}>
						{actions.map((action) => (
							<button
								key={action.name}
								type="button"
								role="menuitem"
								class={action.isDangerous ? "danger-text" : ""}
								aria-disabled={action.isOff}
								title={action.isOff ? (note ?? undefined) : undefined}
								onClick={() => {
									if (action.isOff) return;
									setOpen(false);
									// A box that opens now gives the focus back to where it was; the item is gone then.
									root.current?.querySelector("button")?.focus();
									action.run();
								}}
							>
								{action.name}
							</button>
						))}
					</div>
					{note !== null && <p class="menu-note">{note}</p>}
				</div>
			)}
		</div>
	);
}
