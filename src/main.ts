#!/usr/bin/env node
// Makes the parts and hands them on; imports a way in only when its word is said.
console.error("dialtone: no way in yet");
process.exitCode = 1;
