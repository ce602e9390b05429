// Class members and interface fields of src/ that no production code mentions but their
// declaration: knip sees exports only. By name, so a name that is used anywhere counts as
// used; what implements an outside interface is listed below.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../src");
// The public API: used by whoever imports the package.
const PUBLIC = ["index.ts"];
// Called by node: what a stream is made of.
const OUTSIDE = ["_read", "_write", "_writev", "_final", "_destroy"];

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
	.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.endsWith(".d.ts"))
	.map((name) => ({ name, text: withoutComments(readFileSync(join(root, name), "utf8")) }));

function withoutComments(text) {
	return text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " ")).replace(/^\s*\/\/.*$/gm, "");
}

const MEMBER =
	/^\t(?:(?:static|readonly|override|async|get|set|declare|abstract)\s+)*\*?(#?[A-Za-z_$][\w$]*)(?=[?!]?\s*[:(=<;]|[?!]?\s*$)/;
const KEYWORDS = new Set(["constructor", "if", "for", "while", "return", "switch", "super", "await", "yield", "throw"]);

/** The members that a file declares, by line: what is indented once within a class or interface. */
function* members({ name, text }) {
	let inside = false;
	for (const [index, line] of text.split("\n").entries()) {
		if (/^(export )?(default )?(abstract )?(class|interface) /.test(line)) inside = true;
		else if (/^\}/.test(line)) inside = false;
		const member = inside ? MEMBER.exec(line)?.[1] : undefined;
		if (member !== undefined && !KEYWORDS.has(member)) yield { member, place: `src/${name}:${index + 1}`, name };
	}
}

const uses = new Map();
for (const { text } of files)
	for (const [word] of text.matchAll(/#?[A-Za-z_$][\w$]*/g)) uses.set(word, (uses.get(word) ?? 0) + 1);
const declared = files.flatMap((file) => [...members(file)]);
const declarations = new Map();
for (const { member } of declared) declarations.set(member, (declarations.get(member) ?? 0) + 1);

const dead = declared.filter(
	({ member, name }) =>
		!PUBLIC.includes(name) && !OUTSIDE.includes(member) && uses.get(member) <= declarations.get(member),
);
for (const { member, place } of dead) console.error(`unused member: ${member}  ${place}`);
process.exitCode = dead.length > 0 ? 1 : 0;
