// The ES modules of xterm: Node would take the CommonJS ones, whose exports it must
// first find by a scan of the minified text (70 ms of every start of the daemon).

declare module "@xterm/headless/lib-headless/xterm-headless.mjs" {
	export { Terminal } from "@xterm/headless";
}

declare module "@xterm/addon-unicode11/lib/addon-unicode11.mjs" {
	export class Unicode11Addon {
		activate(terminal: unknown): void;
		dispose(): void;
	}
}

declare module "@xterm/addon-serialize/lib/addon-serialize.mjs" {
	export class SerializeAddon {
		activate(terminal: unknown): void;
		serialize(options?: { readonly scrollback?: number }): string;
		dispose(): void;
	}
}
