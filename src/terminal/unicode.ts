// Widths of characters by Unicode 11, which is what glibc and the programs use.
// The addon is CommonJS and typed against the browser terminal; both are hidden here.

import addon from "@xterm/addon-unicode11";

interface Addon {
	activate(terminal: unknown): void;
	dispose(): void;
}

export const Unicode11Addon = (addon as unknown as { Unicode11Addon: new () => Addon }).Unicode11Addon;
