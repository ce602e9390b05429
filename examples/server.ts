// Start a server, go on when its port is open, and be told when it ends.
// Run it: npx tsx examples/server.ts

import { strict as assert } from "node:assert";
import { Dialtone } from "../src/index.ts";

await using dialtone = await Dialtone.open();
const server = await dialtone.start({
	name: "files",
	argv: ["python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"],
	until: { pattern: "port (\\d+)" },
});
const [port] = server.facts.ports;
const response = await fetch(`http://127.0.0.1:${port}/`);
assert.equal(response.status, 200);

// What is new since the last look: the server's log of that request.
const log = await server.wait({ until: { text: "GET / " } });
assert.match(log.text, /"GET \/ HTTP\/1\.1" 200/);

const closed = await server.close();
assert.equal(closed.status, "cancelled");
console.log(`Served on port ${port}, and gone.`);
