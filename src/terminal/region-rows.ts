// Rows that leave a scroll region go to the scrollback wherever the region begins, as in tmux; upstream, as xterm,
// keeps only those of a region that begins in the first row, and none of what CSI S scrolls away.

import type { Core, CoreGrid } from "./xterm-core.ts";

/** To be called before other handlers of CSI S are registered: these come first then. */
export function keepRegionRows(core: Core): void {
	const service = core._inputHandler._bufferService;
	const scroll = service.scroll.bind(service);
	service.scroll = (blank, isWrapped) => {
		const { normal, active } = core.buffers;
		const { scrollTop } = active;
		if (active !== normal || scrollTop === 0) return scroll(blank, isWrapped);
		raise(normal, scrollTop);
		normal.scrollTop = 0;
		scroll(blank, isWrapped);
		normal.scrollTop = scrollTop;
	};
	core._inputHandler._parser.registerCsiHandler({ final: "S" }, ({ params }) => {
		const { normal, active } = core.buffers;
		if (active !== normal) return false;
		const blank = { fg: 0, bg: 0 };
		for (let times = Math.max(1, params[0]!); times > 0; times--) service.scroll(blank, false);
		return true;
	});
}

/** The first row of the region changes places with those above it, which stay on the screen. */
function raise({ lines, ybase }: CoreGrid, scrollTop: number): void {
	const row = lines.get(ybase + scrollTop)!;
	for (let y = scrollTop; y > 0; y--) lines.set(ybase + y, lines.get(ybase + y - 1)!);
	// It continues what left the region before it, unless the line began in the rows that stay.
	const above = lines.get(ybase - 1);
	if (row.isWrapped && (above === undefined || above.getTrimmedLength() < above.length - 1))
		Object.assign(row, { isWrapped: false });
	lines.set(ybase, row);
}
