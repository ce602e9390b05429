// The one version of library, daemon, MCP server and command line.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export const VERSION: string = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8")).version;
