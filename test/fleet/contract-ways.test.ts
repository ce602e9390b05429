import { testContract } from "./contract.ts";

testContract([
	"the command line",
	"HTTP",
	"MCP on stdio, 2026-07-28",
	"MCP on stdio, the client's handshake of 2025",
	"MCP on stdio, 2025-06-18 by hand",
	"MCP over HTTP, 2026-07-28",
	"MCP over HTTP, 2025",
]);
