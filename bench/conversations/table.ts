// All conversations, in the order of the report.

import type { Conversation } from "./conversation.ts";
import { talks as administration } from "./talks/administration.ts";
import { talks as databases } from "./talks/databases.ts";
import { talks as debuggers } from "./talks/debuggers.ts";
import { talks as fullScreen } from "./talks/full-screen.ts";
import { talks as git } from "./talks/git.ts";
import { talks as programs } from "./talks/programs.ts";
import { talks as remote } from "./talks/remote.ts";
import { talks as repls } from "./talks/repls.ts";
import { talks as wizards } from "./talks/wizards.ts";

export const conversations: readonly Conversation[] = [
	...debuggers,
	...git,
	...wizards,
	...databases,
	...remote,
	...administration,
	...repls,
	...fullScreen,
	...programs,
];
