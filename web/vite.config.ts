// The page as one bundle in dist/web, which the daemon serves: no CDN, no inline script.

import { defineConfig } from "vite";

export default defineConfig({
	root: import.meta.dirname,
	oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
	build: {
		outDir: "../dist/web",
		emptyOutDir: true,
		target: "es2023",
		// Inlined assets would need data: in the page's Content-Security-Policy.
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: false,
	},
});
