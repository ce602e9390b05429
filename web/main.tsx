// Mission control: the page on which people watch agents' terminals, help and take over.

import "@xterm/xterm/css/xterm.css";
import { render } from "preact";
import { startAttention } from "./attention.ts";
import { MissionControl, SharedControl } from "./mission-control.ts";
import { DIM_RULES } from "./terminal/theme.ts";
import { Page } from "./view/page.tsx";

const dim = new CSSStyleSheet();
dim.replaceSync(DIM_RULES);
document.adoptedStyleSheets.push(dim);
const control = new MissionControl();
control.open();
startAttention(control);
render(
	<SharedControl value={control}>
		<Page />
	</SharedControl>,
	document.getElementById("page")!,
);
