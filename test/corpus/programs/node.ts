import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Case, program } from "../case.ts";

const fixture = (name: string) => join(import.meta.dirname, "..", "fixtures", name);

export const cases: Case[] = [
	program(
		"node REPL",
		["node"],
		[
			{ truth: "line", shows: /> $/ },
			{ line: "6*7", truth: "line", shows: /42\n> $/ },
			{ line: "let end = Date.now() + 1500; while (Date.now() < end);", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /> $/ },
			{ line: "await new Promise((done) => setTimeout(done, 1500)), 'later'", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /'later'\n> $/ },
			{ line: "function f() {", truth: "line", shows: /\.\.\. $/ },
			{ line: "}", truth: "line", shows: /> $/ },
		],
	),
	program(
		"node readline question",
		[
			"node",
			"-e",
			"const rl=require('readline').createInterface({input:process.stdin,output:process.stdout});rl.question('name? ',(n)=>{console.log('hello',n);rl.close();setTimeout(()=>{},30000)})",
		],
		[
			{ truth: "line", shows: /name\? $/ },
			{ line: "ann", truth: "busy", forMs: 1200, shows: /hello ann/ },
		],
	),
	program(
		"node reads lines from stdin",
		[
			"node",
			"-e",
			"process.stdout.write('say: ');process.stdin.on('data',(d)=>process.stdout.write('you said '+d+'say: '))",
		],
		[
			{ truth: "line", shows: /say: $/ },
			{ line: "hi", truth: "line", shows: /you said hi\nsay: $/ },
		],
	),
	program(
		"node works, then asks",
		[
			"node",
			"-e",
			"setTimeout(()=>{const rl=require('readline').createInterface({input:process.stdin,output:process.stdout});rl.question('name? ',()=>{})},1200)",
		],
		[
			{ truth: "busy", forMs: 700 },
			{ truth: "line", shows: /name\? $/ },
		],
	),
	program(
		"node http server",
		["node", "-e", "require('http').createServer().listen(0,'127.0.0.1',()=>console.log('up'))"],
		[{ truth: "serving", forMs: 1500, shows: /up/ }],
	),
	program(
		"node http server that also takes keys",
		[
			"node",
			"-e",
			"require('http').createServer().listen(0,'127.0.0.1',()=>console.log('press h + enter for help'));process.stdin.on('data',()=>{})",
		],
		[{ truth: "busy", forMs: 1500, shows: /help/ }],
	),
	program(
		"node waits for a reply from the network",
		[
			"node",
			"-e",
			"const s=require('net').createServer(()=>{}).listen(0,'127.0.0.1',()=>{require('net').connect(s.address().port,'127.0.0.1');process.stdout.write('fetching... ')})",
		],
		[{ truth: "busy", forMs: 1500, shows: /fetching/ }],
	),
	program(
		"node spinner",
		[
			"node",
			"-e",
			"let i=0;process.stdin.setRawMode(true);process.stdin.resume();setInterval(()=>process.stdout.write('\\r'+'|/-\\\\'[i++%4]+' building'),80)",
		],
		[{ truth: "busy", forMs: 1500, shows: /building/ }],
	),
	program(
		"node waits for a child",
		["node", "-e", "require('child_process').spawnSync('sleep',['30'])"],
		[{ truth: "busy", forMs: 1200 }],
	),
	program(
		"node inspect",
		async ({ directory }) => {
			await writeFile(join(directory, "p.js"), "let x = 1;\nlet y = 2;\nconsole.log(x + y);\n");
			return ["node", "inspect", "--port=0", "p.js"];
		},
		[
			{ truth: "line", shows: /debug> $/ },
			{ line: "n", truth: "line", shows: /debug> $/ },
			{ line: "exec('x')", truth: "line", shows: /1\ndebug> $/ },
		],
	),
	program(
		"npm init",
		async ({ directory }) => {
			await writeFile(join(directory, ".npmrc"), "update-notifier=false\n");
			return ["npm", "init"];
		},
		[
			{ truth: "line", shows: /package name: .*$/ },
			{ line: "thing", truth: "line", shows: /version: .*$/ },
			{ line: "", truth: "line", shows: /description: $/ },
		],
	),
	program(
		"@clack/prompts",
		["node", fixture("clack.mjs")],
		[
			{ truth: "line", shows: /What is your name/ },
			{ line: "ann", truth: "key", shows: /Pick a fruit/ },
			{ keys: ["down"], truth: "key" },
			{ keys: ["enter"], truth: "busy", forMs: 900, shows: /cooking/ },
			{ truth: "key", shows: /Are you sure/ },
			{ keys: ["enter"], truth: "ended" },
		],
	),
	program(
		"@inquirer/prompts",
		["node", fixture("inquirer.mjs")],
		[
			{ truth: "line", shows: /What is your name/ },
			{ line: "ann", truth: "key", shows: /Pick a fruit/ },
			{ keys: ["down", "enter"], truth: "secret", shows: /Password/ },
			{ line: "sesame", truth: "line", shows: /Are you sure/ },
			{ line: "y", truth: "ended" },
		],
	),
];
