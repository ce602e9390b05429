// R4.9: what the holder knows to be a secret is in no log and in no frame, however it is cut.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { needing } from "../programs.ts";
import { Client, cleanUp, gone, type Launched, launch, record, SLOWED, u16, u32, u64 } from "./raw-holder.ts";

afterEach(cleanUp);

const SECRET = "hunter2-horse";
const MASK_TAG = 19;
const records = (...patterns: string[]) =>
	Buffer.concat(patterns.flatMap((each) => [u16(Buffer.byteLength(each)), Buffer.from(each)]));
const learn = (client: Client, ...patterns: string[]) =>
	client.ask(0x0b, (request) => Buffer.concat([u32(request, 0), records(...patterns)]));
const typeHidden = (client: Client, text: string) =>
	client.ask(0x04, (request) =>
		Buffer.concat([u32(request, 2), u64(0xffff_ffff_ffff_ffffn), Buffer.alloc(16), Buffer.from(text)]),
	);
const logOf = ({ dir }: Launched) =>
	Buffer.concat(
		readdirSync(dir)
			.filter((name) => name.startsWith("out."))
			.sort()
			.map((name) => readFileSync(join(dir, name))),
	).toString("latin1");
const stars = (text: string) => "*".repeat(Buffer.byteLength(text));

/** Reads a line, then writes each text in random pieces with random pauses, some longer than a piece is held back. */
const SCATTER = `
import os, random, sys, time, tty
random.seed(int(sys.argv[1])); tty.setraw(0)
os.write(1, b"ready\\n"); os.read(0, 100)
for text in sys.argv[2:]:
    data = os.fsencode(text)
    while data:
        size = random.randint(1, max(1, len(data) // 2))
        os.write(1, data[:size]); data = data[size:]
        time.sleep(random.choice([0, 0, 0, 0.001, 0.002, 0.13 if random.random() < 0.02 else 0]))
`;

/** Prints one letter for each byte that it reads; after the seventh it takes its time. */
const SPELL = `
import os, sys, time, tty
tty.setraw(0); os.write(1, b"ready\\n")
for number, letter in enumerate(sys.argv[1]):
    os.read(0, 1); os.write(1, letter.encode())
    if number == 6: time.sleep(0.2)
`;

describe("R4.9 masking", () => {
	test("in any pieces: the log has stars, byte for byte, and no frame has the secret", needing("python3"), async () => {
		const other = "unter2-hors"; // inside of the first one
		for (let seed = 0; seed < (SLOWED ? 1 : 3); seed++) {
			const texts = Array.from(
				{ length: 60 },
				(_, i) => `${i} ${SECRET} h hu hunter2 ${SECRET}${SECRET} x${other}y ${SECRET.repeat(2).slice(1)}\n`,
			);
			const session = await launch({ argv: ["python3", "-c", SCATTER, String(seed), ...texts] });
			const client = await Client.open(session.socket);
			await client.until(() => client.text.includes("ready"));
			expect(await learn(client, SECRET, other)).toEqual({ done: 0 });
			await client.type("\n");
			await client.exited();
			expect(client.text).not.toContain(SECRET);
			const expected = texts.join("").replaceAll(SECRET, stars(SECRET)).replaceAll(other, stars(other));
			expect(logOf(session)).toBe(`ready\n${expected}`);
			client.close();
		}
	});

	test("what is printed before any client is there, when the launch names it", async () => {
		const session = await launch({
			argv: ["printf", "%s", `it is ${SECRET}.`],
			records: [record(MASK_TAG, records(SECRET))],
		});
		await gone(session.holder);
		expect(logOf(session)).toBe(`it is ${stars(SECRET)}.`);
	});

	test("a prompt that ends like the beginning of a secret is shown, and told with the facts", async () => {
		const session = await launch({ argv: ["sh", "-c", "printf 'Name of hunter'; read x; echo; echo done"] });
		const client = await Client.open(session.socket);
		await learn(client, SECRET);
		await client.until(() => client.text.includes("Name of hunter"));
		await client.type("x\n");
		await client.until(() => client.text.includes("done"));
	});

	test("with escape sequences, line ends and control characters in its middle: these stay, and its letters are stars", async () => {
		const pieces = [
			"hun",
			"\x1b[1;31m",
			"ter2",
			"\x1b]8;;http://host/\x1b\\",
			"-",
			"\n",
			"h",
			"\x1b(B",
			"ors",
			"\x07",
			"e",
		];
		const printed = (letters: (text: string) => string) =>
			pieces.map((piece) => (/^[a-z0-9-]+$/.test(piece) ? letters(piece) : piece)).join("");
		const plain = (text: string) => text;
		const text = `<${printed(plain)}> ${printed(plain)}${SECRET} \x1b]0;${SECRET}\x07 \x1b[1mhunter\x1b[m2\n.`;
		const session = await launch({
			argv: ["printf", "%s", text],
			records: [record(MASK_TAG, records(SECRET))],
		});
		await gone(session.holder);
		const expected = `<${printed(stars)}> ${printed(stars)}${stars(SECRET)} \x1b]0;${stars(SECRET)}\x07 \x1b[1mhunter\x1b[m2\n.`;
		expect(logOf(session)).toBe(expected.replaceAll("\n", "\r\n"));
	});

	test(
		"printed slowly: at most its first half is shown, and all of it is masked in the log",
		needing("python3"),
		async () => {
			const session = await launch({ argv: ["python3", "-c", SPELL, SECRET] });
			const client = await Client.open(session.socket);
			await client.until(() => client.text.includes("ready"));
			await learn(client, SECRET);
			// As slow as can be: the next letter is printed when the last one was seen. The first may wait for the second.
			for (let shown = 2; shown <= 6; shown++) {
				await client.type(shown === 2 ? "xx" : "x");
				await client.until(() => client.text.endsWith(SECRET.slice(0, shown)));
			}
			await client.type("xx"); // a pause of twice what another beginning is held back for is between them
			await client.type("x".repeat(SECRET.length - 8));
			await client.exited();
			expect(client.text).toBe(`ready\n${SECRET.slice(0, 6)}${stars(SECRET.slice(6))}`);
			expect(logOf(session)).toBe(`ready\n${stars(SECRET)}`);
		},
	);

	test("many long patterns: the oldest go, and bad ones are refused", async () => {
		const session = await launch({ argv: ["cat"] });
		const client = await Client.open(session.socket);
		for (let i = 0; i < 300; i++) expect(await learn(client, `pattern-${i}-${"x".repeat(500)}`)).toEqual({ done: 0 });
		expect(await learn(client, "abc")).toMatchObject({ refused: "system" });
		expect(await learn(client, "y".repeat(4097))).toMatchObject({ refused: "system" });
		await learn(client, SECRET);
		await client.type(`say ${SECRET}\n`);
		await client.until(() => client.text.includes(`say ${stars(SECRET)}\r\nsay ${stars(SECRET)}\r\n`));
	});

	test("a reader that is not the owner teaches it nothing", async () => {
		const session = await launch({ argv: ["cat"] });
		await Client.open(session.socket);
		const reader = await Client.open(session.socket, { owner: false });
		expect(await learn(reader, SECRET)).toMatchObject({ refused: "not_owner" });
	});
});

describe("R4.9 hidden input", () => {
	test("is typed where nothing is echoed, and refused where it would be seen", async () => {
		const session = await launch({ argv: ["sh", "-c", "read a; stty -echo; echo off; read b; echo got:${#b}; cat"] });
		const client = await Client.open(session.socket);
		expect(await typeHidden(client, `${SECRET}\n`)).toMatchObject({ refused: "echo" });
		await client.type("\n");
		await client.until(() => client.text.includes("off"));
		expect(await typeHidden(client, `${SECRET}\n`)).toEqual({ done: SECRET.length + 2 });
		await client.until(() => client.text.includes(`got:${SECRET.length}`));
		expect(client.text).not.toContain(SECRET);
	});
});
