// The kitty keyboard protocol's stacks: which flags the program has enabled,
// one stack per buffer, as the protocol requires.

import type { Emulator } from "./emulator.ts";

export const KITTY = { disambiguate: 1, events: 2, alternates: 4, allKeys: 8, text: 16 } as const;
const ALL = 31;
/** Deep enough for programs that start programs; bounds a flood of pushes. */
const DEPTH = 16;

export class KittyKeyboard {
	#normal: number[] = [0];
	#alternate: number[] = [0];

	constructor(emulator: Emulator) {
		const stack = () => (emulator.alternate ? this.#alternate : this.#normal);
		emulator.onCsi({ prefix: ">", final: "u" }, ({ params }) => {
			const flags = stack();
			if (flags.length >= DEPTH) flags.shift();
			flags.push(params[0]! & ALL);
			return true;
		});
		emulator.onCsi({ prefix: "<", final: "u" }, ({ params }) => {
			const flags = stack();
			flags.splice(Math.max(0, flags.length - Math.max(1, params[0]!)));
			if (flags.length === 0) flags.push(0);
			return true;
		});
		emulator.onCsi({ prefix: "=", final: "u" }, ({ params, length }) => {
			const flags = stack();
			const now = flags[flags.length - 1]!;
			const given = params[0]! & ALL;
			const how = length > 1 ? params[1]! : 1;
			flags[flags.length - 1] = how === 2 ? now | given : how === 3 ? now & ~given : given;
			return true;
		});
	}

	flags(alternate: boolean): number {
		return (alternate ? this.#alternate : this.#normal).at(-1)!;
	}

	reset(): void {
		this.#normal = [0];
		this.#alternate = [0];
	}

	get state(): { normal: readonly number[]; alternate: readonly number[] } {
		return { normal: [...this.#normal], alternate: [...this.#alternate] };
	}

	restore({ normal, alternate }: { normal: readonly number[]; alternate: readonly number[] }): void {
		this.#normal = normal.length > 0 ? [...normal] : [0];
		this.#alternate = alternate.length > 0 ? [...alternate] : [0];
	}
}
