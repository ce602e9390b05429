import { type Case, program } from "../case.ts";

const python = (code: string) => ["python3", "-c", code];

export const cases: Case[] = [
	program("python input()", python("import time\nn = input('name? ')\nprint('hello', n)\ntime.sleep(30)"), [
		{ truth: "line", shows: /name\? / },
		{ line: "ann", truth: "busy", shows: /hello ann/ },
	]),
	program(
		"python input() after a computation",
		python("import time\nprint('name? ', end='', flush=True)\nt=time.time()\nwhile time.time()-t<1.2: pass\ninput()"),
		[
			{ truth: "busy", forMs: 700, shows: /name\? / },
			{ truth: "line", shows: /name\? / },
			{ line: "ann", truth: "ended" },
		],
	),
	program("python getpass", python("import getpass, time\ngetpass.getpass()\ntime.sleep(30)"), [
		{ truth: "secret", shows: /Password: / },
		{ line: "sesame", truth: "busy" },
	]),
	program(
		"python REPL",
		["python3", "-q"],
		[
			{ truth: "line", shows: />>> $/ },
			{ line: "6*7", truth: "line", shows: /42\n>>> $/ },
			{ line: "import time; time.sleep(1.5); print('slept')", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /slept\n>>> $/ },
			{ line: "for i in range(2):", truth: "line", shows: /\.\.\. $/ },
			{ line: "    print(i)", truth: "line", shows: /\.\.\. $/ },
			{ line: "", truth: "line", shows: /1\n>>> $/ },
			{ line: "input('q? ')", truth: "line", shows: /q\? $/ },
			{ line: "x", truth: "line", shows: />>> $/ },
			{ line: "while True: pass", truth: "line" },
			{ line: "", truth: "busy" },
			{ keys: ["ctrl+c"], truth: "line", shows: /KeyboardInterrupt/ },
		],
	),
	program(
		"python threads, main reads",
		python(
			"import threading, time\ndef w():\n  while True: time.sleep(0.1); print('.', end='', flush=True)\nthreading.Thread(target=w, daemon=True).start()\ninput('name? ')\ntime.sleep(30)",
		),
		[
			{ truth: "line", shows: /name\? / },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"python threads, a worker reads",
		python(
			"import threading, time\ndef r():\n  input('name? ')\nt=threading.Thread(target=r); t.start(); t.join(); time.sleep(30)",
		),
		[
			{ truth: "line", shows: /name\? / },
			{ line: "ann", truth: "busy" },
		],
	),
	program(
		"python asyncio reads stdin",
		python(
			"import asyncio, sys\nasync def m():\n  r=asyncio.StreamReader()\n  await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(r), sys.stdin)\n  print('name? ', end='', flush=True)\n  await r.readline()\n  await asyncio.sleep(30)\nasyncio.run(m())",
		),
		[{ truth: "line", shows: /name\? / }],
	),
	program(
		"python selects the terminal with a tick",
		python(
			"import select, sys, time\nprint('go? ', end='', flush=True)\nwhile not select.select([sys.stdin],[],[],0.1)[0]: pass\nsys.stdin.readline()\ntime.sleep(30)",
		),
		[
			{ truth: "line", shows: /go\? / },
			{ line: "y", truth: "busy" },
		],
	),
	program(
		"python spinner that takes keys",
		python(
			"import select, sys, tty, termios, itertools\ntty.setcbreak(0)\nfor c in itertools.cycle('|/-\\\\'):\n  sys.stdout.write('\\r'+c+' working'); sys.stdout.flush()\n  select.select([0],[],[],0.1)",
		),
		[{ truth: "busy", forMs: 1500, shows: /working/ }],
	),
	program(
		"python raw key",
		python("import sys, tty, os, time\ntty.setraw(0)\nos.write(1, b'key? ')\nos.read(0, 1)\ntime.sleep(30)"),
		[
			{ truth: "key", shows: /key\? / },
			{ text: "x", truth: "busy" },
		],
	),
	program(
		"python reads /dev/tty",
		python("import time\nf=open('/dev/tty')\nprint('tty? ', end='', flush=True)\nf.readline()\ntime.sleep(30)"),
		[
			{ truth: "line", shows: /tty\? / },
			{ line: "x", truth: "busy" },
		],
	),
	program(
		"python epoll with a nested set",
		python(
			"import select, os, time\na=select.epoll(); a.register(0, select.EPOLLIN)\nb=select.epoll(); b.register(a.fileno(), select.EPOLLIN)\nprint('nested? ', end='', flush=True)\nb.poll()\nos.read(0,100)\ntime.sleep(30)",
		),
		[
			{ truth: "line", shows: /nested\? / },
			{ line: "x", truth: "busy" },
		],
	),
	program(
		"python VMIN 3",
		python(
			"import termios, os, time\na=termios.tcgetattr(0)\na[3]&=~(termios.ICANON|termios.ECHO)\na[6][termios.VMIN]=3\ntermios.tcsetattr(0,0,a)\nos.write(1,b'three keys? ')\nos.read(0,3)\ntime.sleep(30)",
		),
		[
			{ truth: "key", shows: /three keys\? / },
			{ text: "ab", truth: "key" },
			{ text: "c", truth: "busy" },
		],
	),
	program("pdb", ["python3", "-m", "pdb", "/dev/stdin"], [{ truth: "ended" }], {
		needs: ["python3"],
		start: async ({ directory }) => {
			const { writeFile } = await import("node:fs/promises");
			await writeFile(`${directory}/p.py`, "import time\nx = 1\ntime.sleep(1.5)\ny = 2\nprint('end')\n");
			return ["python3", "-m", "pdb", "p.py"];
		},
		steps: [
			{ truth: "line", shows: /\(Pdb\) $/ },
			{ line: "n", truth: "line", shows: /\(Pdb\) $/ },
			{ line: "n", truth: "line", shows: /\(Pdb\) $/ },
			{ line: "n", truth: "busy", forMs: 900 },
			{ truth: "line", shows: /y = 2\n\(Pdb\) $/ },
			{ line: "p x", truth: "line", shows: /1\n\(Pdb\) $/ },
		],
	}),
	program(
		"python http.server",
		["python3", "-m", "http.server", "0", "--bind", "127.0.0.1"],
		[{ truth: "serving", forMs: 1500, shows: /Serving HTTP/ }],
	),
];
