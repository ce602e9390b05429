import { describe, expect, test } from "vitest";
import type { PlaceRecord } from "../journal/records.ts";
import {
	isPlace,
	placedArgv,
	placedCommand,
	placedDirectory,
	placedLine,
	quotedForShells,
	toolFailure,
} from "./program-place.ts";
import { mayRun } from "./rules.ts";

const what = (place: string, more: Partial<PlaceRecord> = {}): PlaceRecord => ({
	in: place,
	command: null,
	argv: null,
	cwd: null,
	env: {},
	...more,
});
const A_SHELL = ["sh", "-c", 'exec "$(command -v bash || echo sh)"'];

describe("a program in another place", () => {
	test.each<[string, Partial<PlaceRecord>, readonly string[]]>([
		["ssh:host", {}, ["ssh", "-tt", "-e", "none", "--", "host"]],
		["ssh:me@host:2222", { command: "ls | wc" }, [..."ssh -tt -e none -p 2222 -- me@host".split(" "), "ls | wc"]],
		["ssh:[::1]:22", { argv: ["a b", "c"] }, [..."ssh -tt -e none -p 22 -- ::1".split(" "), "exec 'a b' c"]],
		[
			"ssh:host",
			{ command: "a; b", cwd: "/srv/a b", env: { X: "1 2" } },
			[..."ssh -tt -e none -- host".split(" "), `cd '/srv/a b' && exec env 'X=1 2' "$SHELL" -c 'a; b'`],
		],
		["ssh:host", { cwd: "~/src" }, [..."ssh -tt -e none -- host".split(" "), 'cd ./src && exec "$SHELL" -l']],
		["ssh:host", { cwd: "-", argv: ["ls"] }, [..."ssh -tt -e none -- host".split(" "), "cd ./- && exec ls"]],
		[
			"docker:web",
			{ argv: ["ls", "-l"], cwd: "/srv", env: { A: "b c" } },
			[..."docker exec -it --detach-keys ctrl-@,ctrl-],ctrl-@ -w /srv -e".split(" "), "A=b c", "web", "ls", "-l"],
		],
		["podman:web", { command: "a | b" }, ["podman", "exec", "-it", "--detach-keys", "", "web", "sh", "-c", "a | b"]],
		["kubectl:pod", {}, ["kubectl", "exec", "-it", "pod", "--", ...A_SHELL]],
		[
			"kubectl:ns/pod-0:app",
			{ argv: ["ls"], cwd: "srv", env: { A: "b" } },
			[
				..."kubectl exec -it -n ns pod-0 -c app -- sh -c".split(" "),
				'cd "$0" && exec "$@"',
				..."./srv env A=b ls".split(" "),
			],
		],
	])("%s %o", (place, more, argv) => {
		expect(placedArgv(what(place, more))).toEqual(argv);
	});

	test.each([
		"ssh:",
		"ssh:-oProxyCommand=x",
		"ssh:-o@host",
		"ssh:a b",
		"ssh:host:port",
		"docker:-it",
		"docker:a/b",
		"kubectl:--all",
		"kubectl:a/b/c",
		"telnet:host",
		"host",
		"constructor:x",
	])("%s is none", (place) => {
		expect(isPlace(place)).toBe(false);
		expect(() => placedArgv(what(place))).toThrow(/Invalid input/);
	});

	test("a variable whose name no shell takes is refused", () => {
		expect(() => placedArgv(what("ssh:host", { env: { "a b": "1" } }))).toThrow(/Invalid input/);
	});

	test("words stay readable, and those that are not plain are quoted for every shell", () => {
		expect(["a/b.c", "", "it's", "a\\b!", "$x"].map(quotedForShells)).toEqual([
			"a/b.c",
			"''",
			`'it'\\''s'`,
			`'a'\\\\'b'\\!`,
			"'$x'",
		]);
	});

	test("is told by what runs there and where", () => {
		expect([placedCommand(what("ssh:h", { argv: ["a", "b"] })), placedCommand(what("ssh:h"))]).toEqual([
			"a b",
			"shell",
		]);
		expect([placedDirectory(what("ssh:h")), placedDirectory(what("docker:h", { cwd: "/x" }))]).toEqual(["~", "/x"]);
		// Of a newer version, which knows more kinds.
		expect([placedDirectory(what("later:h")), toolFailure(what("later:h"), 255)]).toEqual([".", null]);
		expect([toolFailure(what("ssh:h"), 255), toolFailure(what("ssh:h"), 1)]).toEqual([
			"ssh itself may have failed",
			null,
		]);
		const inPod = (code: number | null) => toolFailure(what("kubectl:p"), code);
		expect([inPod(0), inPod(1), inPod(2), inPod(null)]).toEqual([
			"kubectl before 1.31 says so of a lost connection, too",
			"kubectl itself may have failed",
			null,
			null,
		]);
	});

	test("rules see the program there and the tool here", () => {
		const line = placedLine(what("ssh:me@prod", { command: "cd /srv; git push", cwd: "/x", env: { A: "b" } }));
		expect(["git push *", "ssh *", "ssh me@prod *", "rm *"].map((pattern) => mayRun(pattern, line))).toEqual([
			true,
			true,
			true,
			false,
		]);
		const shell = placedLine(what("docker:web"));
		expect(["sh", "docker exec *", "git push *"].map((pattern) => mayRun(pattern, shell))).toEqual([true, true, false]);
	});
});
