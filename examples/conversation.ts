// A conversation with Python from a program of your own: one call is one turn.
// Run it: npx tsx examples/conversation.ts

import { strict as assert } from "node:assert";
import { Dialtone } from "../src/index.ts";

await using dialtone = await Dialtone.open();
const python = await dialtone.start({ command: "python3 -q" });
assert.equal(python.facts.activity, "waiting");

// It returns when Python waits again: after two seconds or after two milliseconds.
const product = await python.send({ text: "6*7", submit: true });
assert.match(product.text, /^42$/m);

// The program asks back, and that is told like any other turn.
const question = await python.send({ text: 'input("Shall I? ")', submit: true });
assert.equal(question.activity, "waiting");
const answered = await python.send({ text: "yes", submit: true });
assert.match(answered.text, /'yes'/);

const end = await python.send({ keys: ["ctrl+d"] });
assert.deepEqual(end.exit, { code: 0, signal: null });
console.log("A conversation of five turns, in five calls.");
