// By the daemon's socket, which is the quickest: the other ways in are in contract-ways.test.ts.

import { testContract } from "./contract.ts";

testContract(["the daemon's socket"]);
